package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// LSN is a position in the write-ahead log of a database.
type LSN = pglogrepl.LSN

// ParseLSN parses a position such as 16/B374D848.
func ParseLSN(text string) (LSN, error) {
	at, err := pglogrepl.ParseLSN(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a position in the log of a database: write it as 16/B374D848", text)
	}
	return at, nil
}

// ErrNoSlot means that a database has no slot of that name.
var ErrNoSlot = errors.New("the database has no replication slot of this name")

// slotName is what PostgreSQL accepts as a name.
var slotName = regexp.MustCompile(`^[a-z0-9_]{1,48}$`)

// CheckSlotName checks the name of a slot, which is also the beginning of its publications' names.
func CheckSlotName(name string) error {
	if !slotName.MatchString(name) {
		return fmt.Errorf("%q is not the name of a replication slot: use up to 48 lower case letters, digits and _", name)
	}
	return nil
}

// Slot is a new replication slot with the snapshot of its position.
type Slot struct {
	At       LSN    // earlier commits are in the snapshot, later ones in the stream
	Snapshot string // until Close

	conn *pgconn.PgConn
}

// Close ends the snapshot for connections that have not opened it yet. The slot stays.
func (s *Slot) Close(ctx context.Context) { _ = s.conn.Close(ctx) }

// creating is how long PostgreSQL may wait for the transactions that are open when a slot is made.
const creating = 2 * time.Minute

// CreateSlot makes a slot and exports its snapshot.
func CreateSlot(ctx context.Context, dsn, name string) (*Slot, error) {
	conn, err := replication(ctx, dsn)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, creating)
	defer cancel()
	made, err := pglogrepl.CreateReplicationSlot(wait, conn, name, "pgoutput",
		pglogrepl.CreateReplicationSlotOptions{Mode: pglogrepl.LogicalReplication, SnapshotAction: "EXPORT_SNAPSHOT"})
	if err != nil {
		_ = conn.Close(ctx)
		if wait.Err() != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("a replication slot waits for the transactions that are open when it is made, and one was open for %v: "+
				"`SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start` names it", creating)
		}
		return nil, inWords("making the replication slot "+name, err)
	}
	at, err := ParseLSN(made.ConsistentPoint)
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return &Slot{At: at, Snapshot: made.SnapshotName, conn: conn}, nil
}

// DropSlot removes a slot. It returns ErrNoSlot if there is none.
func DropSlot(ctx context.Context, dsn, name string) error {
	conn, err := replication(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = pglogrepl.DropReplicationSlot(ctx, conn, name, pglogrepl.DropReplicationSlotOptions{})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == noSuchObject {
		return ErrNoSlot
	}
	if err != nil {
		return inWords("removing the replication slot "+name, err)
	}
	return nil
}

// Retained describes the log that the database keeps for a slot.
type Retained struct {
	Slot      string
	Confirmed LSN    // the slot's reader has confirmed everything before it
	Bytes     int64  // of the log that the database keeps for it
	Free      int64  // bytes until the database gives the slot up; -1: it never does
	Status    string // reserved, extended, unreserved or lost
	Active    bool   // another bridge is reading it
}

// String describes how much of the log the slot holds back.
func (h *Retained) String() string {
	text := fmt.Sprintf("%s holds back %s of WAL since %v", h.Slot, size(h.Bytes), h.Confirmed)
	switch {
	case h.Status == "lost":
		text = h.Slot + " is lost: the database has removed WAL that it needs"
	case h.Free >= 0:
		text += fmt.Sprintf(", and is lost after another %s (max_slot_wal_keep_size)", size(h.Free))
	}
	return text
}

// size formats a number of bytes.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	x, unit := float64(n), 0
	for x >= 1024 && unit < len(units)-1 {
		x, unit = x/1024, unit+1
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return fmt.Sprintf("%.1f %s", x, units[unit])
}

// RetainedBy reads what a database keeps for a slot. It returns ErrNoSlot if there is none.
func RetainedBy(ctx context.Context, dsn, name string) (*Retained, error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	return retainedBy(ctx, conn, name)
}

func retainedBy(ctx context.Context, conn *pgx.Conn, name string) (*Retained, error) {
	h := &Retained{Slot: name}
	var confirmed string
	err := conn.QueryRow(ctx, `SELECT coalesce(confirmed_flush_lsn, '0/0')::text,
			coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END, restart_lsn), 0)::bigint,
			coalesce(safe_wal_size, -1)::bigint, coalesce(wal_status, ''), active
		FROM pg_catalog.pg_replication_slots WHERE slot_name = $1`, name).Scan(&confirmed, &h.Bytes, &h.Free, &h.Status, &h.Active)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrNoSlot
	}
	if err != nil {
		return nil, inWords("what the slot "+name+" holds back", err)
	}
	h.Confirmed, err = ParseLSN(confirmed)
	return h, err
}

// settings returns the settings of a connection. Times are in UTC, in the form of ISO 8601.
func settings(dsn string) (*pgx.ConnConfig, error) {
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("--source is not the address of a database: write it as postgres://USER@HOST:5432/DATABASE, the password in $PGPASSWORD or ~/.pgpass")
	}
	conf.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // fields as text
	conf.RuntimeParams["application_name"] = "tidemark import"
	conf.RuntimeParams["timezone"] = "UTC"
	conf.RuntimeParams["datestyle"] = "ISO"
	conf.RuntimeParams["default_transaction_read_only"] = "on"
	return conf, nil
}

// connect opens a connection that reads.
func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	conf, err := settings(dsn)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, inWords(fmt.Sprintf("the database at %s:%d", conf.Host, conf.Port), err)
	}
	return conn, nil
}

// replication opens a connection for replication.
func replication(ctx context.Context, dsn string) (*pgconn.PgConn, error) {
	conf, err := settings(dsn)
	if err != nil {
		return nil, err
	}
	conf.RuntimeParams["replication"] = "database"
	conf.RuntimeParams["application_name"] = "tidemark bridge"
	conn, err := pgconn.ConnectConfig(ctx, &conf.Config)
	if err != nil {
		return nil, inWords(fmt.Sprintf("the database at %s:%d", conf.Host, conf.Port), err)
	}
	return conn, nil
}

// quoted returns an identifier of SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
