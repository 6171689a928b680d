package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// ChangeKind is the kind of a change of a row.
type ChangeKind uint8

// The kinds of changes.
const (
	Inserted ChangeKind = 1 + iota
	Updated
	Removed
)

// Change is a change of a row.
type Change struct {
	Kind ChangeKind
	// Row is the row after the change. It lacks large unchanged columns. For a removed row it has
	// only the columns that identify rows of the table.
	Row *Row
	// Before is an updated row before the change, nil if the table's replica identity is not FULL.
	Before *Row
}

// Transaction has the changes of a transaction, in order.
type Transaction struct {
	ID      uint32    // its number in the database
	At      LSN       // right after it
	Time    time.Time // when it was committed, by the clock of the database
	Changes []Change
}

// Stream reads the transactions of a slot in the order in which they were committed.
type Stream struct {
	conn      *pgconn.PgConn
	relations map[uint32]*relation
	open      *Transaction
	from      LSN // everything before was read earlier
	confirmed LSN
	newest    LSN // end of the database's log, as far as it was reported
}

// relation is a table in the stream.
type relation struct {
	name    string
	columns []string
}

// OpenStream continues to read from a position. A slot has one reader at a time.
func OpenStream(ctx context.Context, dsn, slot string, from LSN) (*Stream, error) {
	conn, err := replication(ctx, dsn)
	if err != nil {
		return nil, err
	}
	publications, err := existing(ctx, dsn, slot)
	if err == nil {
		err = pglogrepl.StartReplication(ctx, conn, slot, from, pglogrepl.StartReplicationOptions{
			Mode: pglogrepl.LogicalReplication, PluginArgs: []string{"proto_version '1'", "publication_names '" + strings.Join(publications, ",") + "'"},
		})
		err = startInWords(slot, err)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return &Stream{conn: conn, relations: map[uint32]*relation{}, from: from, confirmed: from}, nil
}

// existing returns the slot's publications that the database has. PostgreSQL refuses a stream with
// a missing one.
func existing(ctx context.Context, dsn, slot string) ([]string, error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var names []string
	for _, name := range Publications(slot) {
		var found bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_publication WHERE pubname = $1)", name).Scan(&found); err != nil {
			return nil, inWords("the publications of the database", err)
		}
		if found {
			names = append(names, quoted(name))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the database has no publication %s: it was removed, and changes since then cannot be read", slot)
	}
	return names, nil
}

func startInWords(slot string, err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == noSuchObject {
		return ErrNoSlot
	}
	if err != nil {
		return inWords("reading the replication slot "+slot, err)
	}
	return nil
}

// Close ends the reading.
func (s *Stream) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	_ = s.conn.Close(ctx)
}

// Newest returns the end of the database's log, as far as it was reported.
func (s *Stream) Newest() LSN { return s.newest }

// Idle returns a position up to which the stream has no further change, or 0 if there may be one.
func (s *Stream) Idle() LSN {
	if s.open != nil {
		return 0
	}
	return s.newest
}

// Next returns the next transaction. It returns nil if none comes within the given time.
func (s *Stream) Next(ctx context.Context, wait time.Duration) (*Transaction, error) {
	until, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		message, err := s.conn.ReceiveMessage(until)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if pgconn.Timeout(err) {
				return nil, nil
			}
			return nil, inWords("reading the changes of the database", err)
		}
		switch m := message.(type) {
		case *pgproto3.ErrorResponse:
			return nil, inWords("reading the changes of the database", pgconn.ErrorResponseToPgError(m))
		case *pgproto3.CopyData:
			done, err := s.take(ctx, m.Data)
			if done != nil || err != nil {
				return done, err
			}
		}
	}
}

// take takes a message of the stream. It returns the transaction that ends with the message.
func (s *Stream) take(ctx context.Context, data []byte) (*Transaction, error) {
	if len(data) == 0 {
		return nil, errStream
	}
	switch data[0] {
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		k, err := pglogrepl.ParsePrimaryKeepaliveMessage(data[1:])
		if err != nil {
			return nil, errStream
		}
		s.newest = max(s.newest, k.ServerWALEnd)
		if k.ReplyRequested {
			return nil, s.Confirm(ctx, s.confirmed)
		}
	case pglogrepl.XLogDataByteID:
		x, err := pglogrepl.ParseXLogData(data[1:])
		if err != nil {
			return nil, errStream
		}
		return s.decode(x.WALData)
	}
	return nil, nil
}

var errStream = errors.New("the stream of changes of the database is damaged")

// decode takes a message of pgoutput.
func (s *Stream) decode(data []byte) (*Transaction, error) {
	message, err := pglogrepl.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStream, err)
	}
	switch m := message.(type) {
	case *pglogrepl.RelationMessage:
		r := &relation{name: m.RelationName}
		for _, c := range m.Columns {
			r.columns = append(r.columns, c.Name)
		}
		s.relations[m.RelationID] = r
	case *pglogrepl.BeginMessage:
		s.open = &Transaction{ID: m.Xid, Time: m.CommitTime}
	case *pglogrepl.InsertMessage:
		return nil, s.add(Inserted, m.RelationID, m.Tuple, nil)
	case *pglogrepl.UpdateMessage:
		if m.OldTupleType != pglogrepl.UpdateMessageTupleTypeOld {
			m.OldTuple = nil // a key alone
		}
		return nil, s.add(Updated, m.RelationID, m.NewTuple, m.OldTuple)
	case *pglogrepl.DeleteMessage:
		return nil, s.add(Removed, m.RelationID, m.OldTuple, nil)
	case *pglogrepl.CommitMessage:
		tx := s.open
		if s.open = nil; tx == nil {
			return nil, errStream
		}
		s.newest = max(s.newest, m.TransactionEndLSN)
		if tx.At = m.TransactionEndLSN; tx.At > s.from { // otherwise it was read before
			return tx, nil
		}
	}
	return nil, nil
}

// add adds a change to the open transaction.
func (s *Stream) add(kind ChangeKind, id uint32, tuple, before *pglogrepl.TupleData) error {
	r := s.relations[id]
	if r == nil || s.open == nil || tuple == nil {
		return errStream
	}
	change := Change{Kind: kind}
	var ok, okBefore bool
	change.Row, ok = r.row(tuple, int64(len(s.open.Changes)+1))
	if okBefore = true; before != nil {
		change.Before, okBefore = r.row(before, change.Row.Number)
	}
	if !ok || !okBefore {
		return errStream
	}
	s.open.Changes = append(s.open.Changes, change)
	return nil
}

// row returns a tuple as a row. It reports false if the tuple does not fit the relation.
func (r *relation) row(tuple *pglogrepl.TupleData, number int64) (row *Row, ok bool) {
	row = &Row{Table: r.name, Number: number}
	if len(tuple.Columns) > len(r.columns) {
		return row, false
	}
	for i, c := range tuple.Columns {
		switch c.DataType {
		case pglogrepl.TupleDataTypeToast:
			continue
		case pglogrepl.TupleDataTypeNull:
			row.null = append(row.null, true)
		default:
			row.null = append(row.null, false)
		}
		row.columns, row.values = append(row.columns, r.columns[i]), append(row.values, string(c.Data))
	}
	return row, true
}

// Confirm tells the database that it may drop its log before a position.
func (s *Stream) Confirm(ctx context.Context, at LSN) error {
	s.confirmed = max(s.confirmed, at)
	if err := pglogrepl.SendStandbyStatusUpdate(ctx, s.conn, pglogrepl.StandbyStatusUpdate{WALWritePosition: s.confirmed}); err != nil {
		return inWords("confirming a position to the database", err)
	}
	return nil
}
