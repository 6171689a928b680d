package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres reads a PostgreSQL database as it was at one moment, in one read-only transaction. No
// writer waits for its locks.
type Postgres struct {
	conn *pgx.Conn
	tx   pgx.Tx
}

// closing is how long the end of a transaction may take.
const closing = 5 * time.Second

// OpenPostgres begins the transaction. Times are in UTC, in the form of ISO 8601.
func OpenPostgres(ctx context.Context, dsn string) (*Postgres, error) {
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("--source is no address of a database: write it as postgres://USER@HOST:5432/DATABASE, the password in $PGPASSWORD or ~/.pgpass")
	}
	conf.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // fields as text
	conf.RuntimeParams["application_name"] = "tidemark import"
	conf.RuntimeParams["timezone"] = "UTC"
	conf.RuntimeParams["datestyle"] = "ISO"
	conf.RuntimeParams["default_transaction_read_only"] = "on"
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, inWords(fmt.Sprintf("the database at %s:%d", conf.Host, conf.Port), err)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		_ = conn.Close(ctx)
		return nil, inWords("beginning to read", err)
	}
	p := &Postgres{conn, tx}
	if _, err := tx.Exec(ctx, "SELECT 1"); err != nil { // all later statements see the database as of this first one
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

// Rows runs the query of a table. Without a query it finds nothing.
func (p *Postgres) Rows(ctx context.Context, table, query string, fn func(*Row) error) (found bool, err error) {
	if query == "" {
		return false, nil
	}
	rows, err := p.tx.Query(ctx, query)
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
