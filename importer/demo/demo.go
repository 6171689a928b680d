package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tidemark/tidemark/docs"
)

//go:embed synapse.sql
var synapseSQL string

//go:embed table.sql
var tableSQL string

// synapseBegin is the time at which the rows of synapse.sql begin. All its times have 13 digits,
// and no other number has.
const synapseBegin = 1_000_000_000_000

var synapseTime = regexp.MustCompile(`\b10000\d{8}\b`)

// SQL returns the statements that make the database of a product, with rows of the ten days before
// now. Each user has a number that is wrong, or that the product counts in another way.
func SQL(product string, now time.Time) string {
	if product == "table" {
		return tableSQL
	}
	by := now.Add(-10*24*time.Hour).UnixMilli() - synapseBegin
	return synapseTime.ReplaceAllStringFunc(synapseSQL, func(text string) string {
		at, _ := strconv.ParseInt(text, 10, 64) // digits
		return strconv.FormatInt(at+by, 10)
	})
}

// Connect connects to a database.
func Connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("--source is not the address of a database: write it as postgres://USER@HOST:5432/DATABASE, the password in $PGPASSWORD or ~/.pgpass")
	}
	conf.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // several statements at once, as one transaction
	conf.RuntimeParams["application_name"] = "tidemark demo-source"
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("the database at %s:%d: %w", conf.Host, conf.Port, err)
	}
	return conn, nil
}

// Codes of PostgreSQL's errors.
const (
	tableExists    = "42P07"
	functionExists = "42723"
	noRight        = "42501"
)

// Fill makes the tables of a product in a database that has none of them. An error leaves nothing
// behind.
func Fill(ctx context.Context, conn *pgx.Conn, product string, now time.Time) error {
	_, err := conn.Exec(ctx, SQL(product, now))
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && (pg.Code == tableExists || pg.Code == functionExists):
		return fmt.Errorf("the database has tables of this name already (%s), and nothing was changed: name an empty one, which `createdb` makes", pg.Message)
	case errors.As(err, &pg) && pg.Code == noRight:
		return fmt.Errorf("the user of --source may not make tables (%s): name a database of theirs", pg.Message)
	case err != nil:
		return fmt.Errorf("making the tables: %w", err)
	}
	return nil
}

// Folder writes the files of docs/import/example into a folder, which it makes.
func Folder(dir string) (names []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	all, err := fs.ReadDir(docs.Example, docs.ExampleFolder)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		text, err := docs.Example.ReadFile(docs.ExampleFolder + "/" + f.Name())
		if err != nil {
			return names, err
		}
		out, err := os.OpenFile(filepath.Join(dir, f.Name()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return names, fmt.Errorf("%s has a file %s already: name another folder", dir, f.Name())
		}
		if err != nil {
			return names, err
		}
		_, err = out.Write(text)
		if err = errors.Join(err, out.Close()); err != nil {
			return names, err
		}
		names = append(names, f.Name())
	}
	return names, nil
}
