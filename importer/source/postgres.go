package source

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres reads a PostgreSQL database as it was at one moment, in one read-only transaction. It
// makes no writer wait.
type Postgres struct {
	conn *pgx.Conn
	tx   pgx.Tx
}

// closing is how long the end of a transaction may take.
const closing = 5 * time.Second

// OpenPostgres begins the transaction.
func OpenPostgres(ctx context.Context, dsn string) (*Postgres, error) {
	return OpenSnapshot(ctx, dsn, "")
}

// OpenSnapshot begins the transaction as of a snapshot that another connection has exported; "" is
// now.
func OpenSnapshot(ctx context.Context, dsn, snapshot string) (*Postgres, error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		_ = conn.Close(ctx)
		return nil, inWords("beginning to read", err)
	}
	p := &Postgres{conn, tx}
	first := "SELECT 1" // all later statements see the database as of this first one
	if snapshot != "" {
		first = "SET TRANSACTION SNAPSHOT '" + strings.ReplaceAll(snapshot, "'", "''") + "'"
	}
	if _, err := tx.Exec(ctx, first); err != nil {
		_ = p.Close(ctx)
		return nil, inWords("beginning to read", err)
	}
	return p, nil
}

// Close ends the transaction.
func (p *Postgres) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	_ = p.tx.Rollback(ctx) // it wrote nothing
	return p.conn.Close(ctx)
}

// Moment returns the transactions that this one sees, in the form of ParseMoment.
func (p *Postgres) Moment(ctx context.Context) (text string, err error) {
	return momentOf(ctx, p.tx)
}

func momentOf(ctx context.Context, from querier) (text string, err error) {
	if err = from.QueryRow(ctx, "SELECT txid_current_snapshot()::text").Scan(&text); err != nil {
		return "", inWords("what the snapshot has", err)
	}
	return text, nil
}

// Rows runs the query of a table. Without a query it finds nothing.
func (p *Postgres) Rows(ctx context.Context, table, query string, fn func(*Row) error) (found bool, err error) {
	return queryRows(ctx, p.tx, table, query, fn)
}

// Now reads the current state of a PostgreSQL database, with each query on its own.
type Now struct {
	conn *pgx.Conn
	seen *Moment // at the newest look
}

// OpenNow connects to a database.
func OpenNow(ctx context.Context, dsn string) (*Now, error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return &Now{conn: conn}, nil
}

// Close closes the connection.
func (n *Now) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	return n.conn.Close(ctx)
}

// Rows runs a query. Without a query it finds nothing.
func (n *Now) Rows(ctx context.Context, table, query string, fn func(*Row) error) (found bool, err error) {
	return queryRows(ctx, n.conn, table, query, fn)
}

// Sees reports whether queries see a committed transaction, given the lower 32 bits of its number.
func (n *Now) Sees(ctx context.Context, id uint32) (bool, error) {
	if n.seen != nil && n.seen.Has(id) {
		return true, nil
	}
	text, err := momentOf(ctx, n.conn)
	if err != nil {
		return false, err
	}
	if n.seen, err = ParseMoment(text); err != nil {
		return false, err
	}
	return n.seen.Has(id), nil
}

// Retained returns what the database keeps for a slot.
func (n *Now) Retained(ctx context.Context, slot string) (*Retained, error) {
	return retainedBy(ctx, n.conn, slot)
}

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func queryRows(ctx context.Context, from querier, table, query string, fn func(*Row) error) (found bool, err error) {
	if query == "" {
		return false, nil
	}
	rows, err := from.Query(ctx, query)
	if err != nil {
		return false, inWords(table, err)
	}
	defer rows.Close()
	row := &Row{Table: table}
	for _, d := range rows.FieldDescriptions() {
		row.columns = append(row.columns, d.Name)
	}
	row.values, row.null = make([]string, len(row.columns)), make([]bool, len(row.columns))
	for rows.Next() {
		row.Number++
		for i, raw := range rows.RawValues() {
			row.values[i], row.null[i] = string(raw), raw == nil
		}
		if err := fn(row); err != nil {
			return true, err
		}
	}
	if err := rows.Err(); err != nil {
		return true, inWords(table, err)
	}
	return true, nil
}
