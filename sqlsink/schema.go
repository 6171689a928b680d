package sqlsink

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Version is the version of the schema that this build writes.
const Version = 2

//go:embed schema/*.sql
var migrations embed.FS

// Keys of advisory locks. One serves migrations and openings; the other lets batches that remove
// rows of other partitions run alone.
const (
	lockSchema  = 0x7469_6465_0001
	lockRemoval = 0x7469_6465_0002
)

// oldest is the oldest version of PostgreSQL with multiranges.
const oldest = 140000

// ensureSchema creates the schema, or migrates it to Version.
func ensureSchema(ctx context.Context, tx pgx.Tx) error {
	var server int
	var encoding string
	var schema, identity bool
	err := tx.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		to_regnamespace('tidemark') IS NOT NULL, to_regclass('tidemark.identity') IS NOT NULL`).Scan(&server, &encoding, &schema, &identity)
	switch {
	case err != nil:
		return err
	case server < oldest:
		return fmt.Errorf("the database is PostgreSQL %d, and the role sql needs 14 or newer", server/10000)
	case encoding != "UTF8":
		return fmt.Errorf("the database has the encoding %s, but ids are UTF-8: name a database that was created with ENCODING 'UTF8'", encoding)
	}
	if !schema {
		if _, err := tx.Exec(ctx, `CREATE SCHEMA tidemark`); err != nil {
			return err
		}
	}
	version := 0
	if identity {
		err := tx.QueryRow(ctx, `SELECT coalesce((SELECT max(version) FROM tidemark.identity), $1)`, Version).Scan(&version)
		if err != nil {
			return err
		}
	} else if _, err := tx.Exec(ctx, createIdentity); err != nil {
		return err
	}
	if version > Version {
		return fmt.Errorf("the schema tidemark has version %d, but this build knows versions up to %d: run the newer build, or drop the schema, which is then filled again from the topics", version, Version)
	}
	for v := version + 1; v <= Version; v++ {
		text, err := migrations.ReadFile(fmt.Sprintf("schema/%d.sql", v))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, string(text), pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("version %d of the schema tidemark: %w", v, err)
		}
		if _, err := tx.Exec(ctx, `UPDATE tidemark.identity SET version = $1`, v); err != nil {
			return err
		}
	}
	return nil
}

// createIdentity creates a table of one row that identifies the source of the filling. Without that
// row the database counts as empty: if you delete it, the sink reads everything again.
const createIdentity = `CREATE TABLE tidemark.identity (
	version     integer NOT NULL,
	filling     text NOT NULL,
	topics      text NOT NULL, -- names and ids, and how many partitions
	partitions  integer NOT NULL,
	begun_at    timestamptz NOT NULL,
	complete_at timestamptz -- NULL: it is being filled
)`
