package sqlsink

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// Writer writes published records, for tests outside of the package.
type Writer struct {
	db   *database
	fill filling
	part *part
}

// Begin empties a database and returns a Writer for it.
func Begin(t testing.TB, dsn string) *Writer {
	t.Helper()
	addr, err := ParseAddress(dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := Config{Brokers: []string{"none"}, Database: addr}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w := &Writer{db: newDatabase(&cfg, newMetrics(nil)), part: &part{}}
	t.Cleanup(w.db.close)
	w.Wipe(t)
	return w
}

// do runs fn in a transaction.
func (w *Writer) do(t testing.TB, fn func(context.Context, pgx.Tx) error) {
	t.Helper()
	if err := w.db.once(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// Wipe begins a new filling, with empty tables.
func (w *Writer) Wipe(t testing.TB) {
	t.Helper()
	w.do(t, func(ctx context.Context, tx pgx.Tx) (err error) {
		if _, err = tx.Exec(ctx, "DROP SCHEMA IF EXISTS tidemark CASCADE"); err == nil {
			w.fill, _, err = openFilling(ctx, tx, "test", "topics", 1)
		}
		return err
	})
}

// Empty empties the tables.
func (w *Writer) Empty(t testing.TB) {
	t.Helper()
	w.do(t, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM tidemark.unread; DELETE FROM tidemark.read_pointers; DELETE FROM tidemark.channels;
			DELETE FROM tidemark.receipts; DELETE FROM tidemark.deleted_channels; DELETE FROM tidemark.removed`, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// Write writes records as one batch.
func (w *Writer) Write(t testing.TB, records ...*kgo.Record) {
	t.Helper()
	var b batch
	b.reset()
	for _, r := range records {
		switch r.Topic {
		case events.TopicUnread:
			b.addUnread(r, w.part)
		case events.TopicChannels:
			b.addChannel(r, w.part)
		default:
			b.addReceipts(r, w.part)
		}
	}
	if b.tally.bad > 0 {
		t.Fatal(b.tally.lastBad)
	}
	w.do(t, func(ctx context.Context, tx pgx.Tx) error {
		_, err := write(ctx, tx, &b, &w.fill, nil)
		return err
	})
}

// begin makes token the owner of a partition.
func (w *Writer) begin(token string, p partition) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := w.fill.begin(ctx, tx, token, []partition{p}, []extent{{Start: 0, End: 100}})
		return err
	}
}

// write writes a batch as the owner of a partition.
func (w *Writer) write(b *batch, s step) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := write(ctx, tx, b, &w.fill, []step{s})
		return err
	}
}
