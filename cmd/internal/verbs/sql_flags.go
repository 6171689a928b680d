package verbs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/sqlsink"
)

// SQLAddress names the database of the role sql.
type SQLAddress struct {
	SQL             string `name:"sql" placeholder:"URL" help:"PostgreSQL that the role sql writes to, as postgres://USER@HOST:5432/DATABASE. Do not put a password on the command line: set the URL in the environment, or use a password file or ~/.pgpass."`
	SQLPasswordFile string `name:"sql-password-file" placeholder:"FILE" help:"File with the password of the database of --sql."`
}

// Address parses the flags; it refuses a password on the command line.
func (f SQLAddress) Address(a *App) (*sqlsink.Address, error) {
	if a.Given["sql"] && sqlsink.PasswordIn(f.SQL) {
		return nil, Usagef("--sql has a password, which every user of this machine can read in the list of processes: " +
			"put the URL into $TIDEMARK_SQL, or the password into a file for --sql-password-file")
	}
	password := ""
	if f.SQLPasswordFile != "" {
		b, err := os.ReadFile(f.SQLPasswordFile)
		if err != nil {
			return nil, fmt.Errorf("password of --sql: %w", err)
		}
		password = strings.TrimRight(string(b), "\r\n")
	}
	addr, err := sqlsink.ParseAddress(f.SQL, password)
	if err != nil {
		return nil, Usagef("%v", err)
	}
	return addr, nil
}

// SQLFlags set what the role sql writes, and when.
type SQLFlags struct {
	SQLAddress
	SQLFlush SQLFlush `name:"sql-flush" default:"15s,50000" placeholder:"TIME,ROWS" help:"When collected rows are written to the database: after a time, at a number of rows, or both (${default})."`
}

// ForRole returns the database if roles have sql, and nil if not.
func (f SQLFlags) ForRole(a *App, roles config.Roles) (*sqlsink.Address, error) {
	switch has := roles.Has(config.RoleSQL); {
	case has && f.SQL == "":
		return nil, Usagef("the role sql needs --sql, the postgres:// address of the database to write to")
	case !has:
		return nil, nil
	}
	return f.Address(a)
}

// SQLFlush is a time, a number of rows, or both.
type SQLFlush sqlsink.Flush

// UnmarshalText reads 15s, 50000 or 15s,50000.
func (f *SQLFlush) UnmarshalText(text []byte) error {
	*f = SQLFlush(sqlsink.DefaultFlush)
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		if rows, err := strconv.Atoi(part); err == nil && rows > 0 {
			f.Rows = min(rows, 1_000_000)
			continue
		}
		every, err := time.ParseDuration(part)
		if err != nil || every <= 0 {
			return errors.New("write it as 15s, as a number of rows, or as both: 15s,50000")
		}
		f.Every = every
	}
	return nil
}
