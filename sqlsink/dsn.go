package sqlsink

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Address is the address of a database and the login. Its String has no password.
type Address struct {
	conf *pgx.ConnConfig
	name string
}

// connectTimeout bounds the time to connect.
const connectTimeout = 10 * time.Second

// ParseAddress reads a postgres:// URL. If the URL has no password, ParseAddress takes the
// argument, or if that is empty, $PGPASSWORD or ~/.pgpass. Its error quotes nothing of the URL.
func ParseAddress(dsn, password string) (*Address, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" {
		return nil, errAddress
	}
	conf, err := pgx.ParseConfig(dsn)
	if err != nil { // it may quote the password
		return nil, errAddress
	}
	if password != "" {
		conf.Password = password
	}
	conf.ConnectTimeout = connectTimeout
	conf.DefaultQueryExecMode = pgx.QueryExecModeExec // no prepared statements: poolers do not support them
	for name, value := range map[string]string{
		"application_name": "tidemark sql", "timezone": "UTC", "datestyle": "ISO", "client_encoding": "UTF8",
	} {
		conf.RuntimeParams[name] = value
	}
	return &Address{conf: conf, name: fmt.Sprintf("%s:%d/%s", conf.Host, conf.Port, conf.Database)}, nil
}

var errAddress = errors.New("--sql is not the address of a PostgreSQL database: write it as postgres://USER@HOST:5432/DATABASE, the password in --sql-password-file, $PGPASSWORD or ~/.pgpass")

// String names the database: host, port and database.
func (a *Address) String() string { return a.name }

// PasswordIn reports whether the address of a database contains a password.
func PasswordIn(dsn string) bool {
	u, err := url.Parse(dsn)
	if err != nil {
		return strings.Contains(dsn, "@") || strings.Contains(dsn, "password")
	}
	_, has := u.User.Password()
	return has || u.Query().Has("password") || u.Query().Has("sslpassword") || u.Scheme == "" && strings.Contains(dsn, "password")
}

// redact removes the password from the text of an error.
func (a *Address) redact(err error) error {
	if err == nil || a.conf.Password == "" || !strings.Contains(err.Error(), a.conf.Password) {
		return err
	}
	return &redacted{err: err, text: strings.ReplaceAll(err.Error(), a.conf.Password, "xxxxx")}
}

// redacted is an error whose text had a password.
type redacted struct {
	err  error
	text string
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }
