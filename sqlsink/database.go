package sqlsink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/retry"
)

// database keeps one idle connection for the next use. It closes a connection that failed.
type database struct {
	cfg     *Config
	metrics *metrics
	idle    chan *pgx.Conn
	trouble atomic.Pointer[error] // why the last attempt failed; nil: it succeeded
}

func newDatabase(cfg *Config, m *metrics) *database {
	return &database{cfg: cfg, metrics: m, idle: make(chan *pgx.Conn, 1)}
}

// closing is how long the end of a connection may take.
const closing = 2 * time.Second

// close closes the idle connection.
func (db *database) close() {
	select {
	case conn := <-db.idle:
		closeConn(conn)
	default:
	}
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	_ = conn.Close(ctx) // no transaction is open
}

// once runs fn in one transaction. If fn or the commit fails, nothing was changed, unless only the
// answer to the commit was lost.
func (db *database) once(ctx context.Context, fn func(context.Context, pgx.Tx) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, db.cfg.WriteTimeout)
	defer cancel()
	var conn *pgx.Conn
	select {
	case conn = <-db.idle:
	default:
		if conn, err = pgx.ConnectConfig(ctx, db.cfg.Database.conf.Copy()); err != nil {
			return db.inWords(err)
		}
	}
	defer func() {
		if err != nil || conn.IsClosed() {
			closeConn(conn)
			return
		}
		select {
		case db.idle <- conn:
		default:
			closeConn(conn)
		}
	}()
	err = guard.Err("a transaction of the SQL sink", func() error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '30s'"); err != nil {
			return err
		}
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	return db.inWords(err)
}

// persist runs fn in a transaction until it succeeds, the session must be opened anew, or ctx ends.
func (db *database) persist(ctx context.Context, what string, fn func(context.Context, pgx.Tx) error) error {
	pause := retry.Backoff{Min: db.cfg.RetryMin, Max: db.cfg.RetryMax}
	var logged time.Time
	for {
		err := db.once(ctx, fn)
		if err == nil {
			db.trouble.Store(nil)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errReopen) {
			return err
		}
		err = fmt.Errorf("%s: %w", what, err)
		db.metrics.errors.Inc()
		db.trouble.Store(&err)
		if time.Since(logged) > 10*time.Second {
			logged = time.Now()
			db.cfg.Logger.Warn("the database fails, trying again", append(guard.Stack(err), "database", db.cfg.Database.String(), "error", err)...)
		}
		if !pause.Wait(ctx) {
			return ctx.Err()
		}
	}
}

// inWords adds a remedy to an error of the database, and removes the password.
func (db *database) inWords(err error) error {
	if err == nil {
		return nil
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code {
		case "3F000", "42P01", "42883", "42703": // schema, table, function, column
			err = fmt.Errorf("%w: its schema or a table is gone: %w", errReopen, err)
		case "42501":
			err = fmt.Errorf("%w: the user of --sql lacks a right: GRANT CREATE, TEMPORARY ON DATABASE … TO that user, and make it the owner of the schema tidemark and of everything in it", err)
		case "53100":
			err = fmt.Errorf("%w: the database is out of disk space: free some; the sink then continues by itself", err)
		case "25006":
			err = fmt.Errorf("%w: --sql names a standby: name the primary, with target_session_attrs=read-write if it may move", err)
		}
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		err = fmt.Errorf("no PostgreSQL answers at %s: %w", db.cfg.Database, flat(err))
	}
	return db.cfg.Database.redact(err)
}

// flat puts an error of several lines on one line.
func flat(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if text == err.Error() {
		return err
	}
	return &redacted{err: err, text: text}
}
