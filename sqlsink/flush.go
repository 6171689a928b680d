package sqlsink

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// write writes a batch, and moves the positions of steps, in one transaction.
func write(ctx context.Context, tx pgx.Tx, b *batch, f *filling, steps []step) (complete bool, err error) {
	if err := f.holds(ctx, tx); err != nil {
		return false, err
	}
	// A batch that removes rows of other partitions and batches that may write such rows exclude
	// each other.
	how := "pg_advisory_xact_lock_shared"
	if b.removals {
		how = "pg_advisory_xact_lock"
	}
	if _, err := tx.Exec(ctx, "SELECT "+how+"($1)", int64(lockRemoval)); err != nil {
		return false, err
	}
	if err := lock(ctx, tx, steps); err != nil {
		return false, err
	}
	if b.rows() > 0 {
		if err := merge(ctx, tx, b, "tidemark"); err != nil {
			return false, err
		}
	}
	return advance(ctx, tx, steps, f.complete)
}

// merge copies a batch into temporary tables and merges them into the tables of a schema.
func merge(ctx context.Context, tx pgx.Tx, b *batch, schema string) error {
	run := func(statements string) error {
		_, err := tx.Exec(ctx, in(schema, statements), pgx.QueryExecModeSimpleProtocol)
		return err
	}
	if err := run(makeTemporary); err != nil {
		return err
	}
	for _, t := range []struct {
		name string
		list []row
	}{{"in_channels", b.channels.list}, {"in_unread", b.unread.list}, {"in_receipts", b.receipts}} {
		if len(t.list) == 0 {
			continue
		}
		if _, err := tx.Conn().PgConn().CopyFrom(ctx, &copyReader{text: b.text.b, list: t.list}, "COPY "+t.name+" FROM STDIN"); err != nil {
			return fmt.Errorf("copy to %s: %w", t.name, err)
		}
	}
	remembered := b.removals
	if b.removals {
		if err := run(mergeRemovals); err != nil {
			return err
		}
	} else if err := tx.QueryRow(ctx, in(schema, `SELECT EXISTS (SELECT FROM tidemark.deleted_channels) OR EXISTS (SELECT FROM tidemark.removed)`)).Scan(&remembered); err != nil {
		return err
	}
	if remembered {
		if err := run(refuseRemoved); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		list       []row
		statements []string
	}{{b.unread.list, []string{mergeUnread, mergePointers}}, {b.channels.list, []string{mergeChannels}}, {b.receipts, []string{mergeReceipts}}} {
		if len(s.list) == 0 {
			continue
		}
		for _, statement := range s.statements {
			if err := run(statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// in returns the statements with another schema instead of tidemark.
func in(schema, statements string) string {
	return strings.ReplaceAll(statements, "tidemark.", schema+".")
}

// copyReader reads the text of rows.
type copyReader struct {
	text []byte
	list []row
	at   int // in the text of the first row of list
}

// Read implements io.Reader.
func (r *copyReader) Read(p []byte) (n int, err error) {
	for len(r.list) > 0 && n < len(p) {
		rest := r.text[r.list[0].from+r.at : r.list[0].to]
		k := copy(p[n:], rest)
		n += k
		if r.at += k; k == len(rest) {
			r.list, r.at = r.list[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// flush writes the batch and retries until the database has it. It leaves out rows of partitions
// that were given away meanwhile: their new owner reads those records again.
func (s *session) flush(ctx context.Context) error {
	b := &s.batch
	var steps []step
	var complete bool
	err := s.sink.db.persist(ctx, "write rows", func(ctx context.Context, tx pgx.Tx) (err error) {
		begun := time.Now()
		defer func() { s.sink.metrics.flush.Observe(time.Since(begun).Seconds()) }()
		steps = s.owned()
		if err := s.cfg.plant("flush"); err != nil {
			return err
		}
		if complete, err = write(ctx, tx, b, &s.fill, steps); err == nil {
			err = s.cfg.plant("commit")
		}
		return err
	})
	if err != nil {
		return err
	}
	m := s.sink.metrics
	m.batch.Observe(float64(b.rows()))
	m.coalesced.Add(float64(b.tally.coalesced))
	m.bad.Add(float64(b.tally.bad))
	m.written.Add(float64(max(0, b.tally.records-b.tally.coalesced-b.tally.bad)))
	if b.tally.lastBad != nil {
		s.bad.Add(b.tally.bad, b.tally.lastBad)
	}
	s.bad.Due(time.Now(), s.logSkipped)
	b.reset()
	s.fill.complete = complete
	s.sink.complete.Set(complete)
	s.written(steps)
	return nil
}

// logSkipped logs that count records were skipped. last names the last one.
func (s *session) logSkipped(last error, count int) {
	s.cfg.Logger.Error("records were skipped and are not in the database; the error names the last one", "count", count, "error", last)
}

// owned drops rows of partitions that were given away from the batch, and returns the steps of the
// others.
func (s *session) owned() (steps []step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if s.released {
		s.released = false
		n = s.batch.drop(func(p *part) bool { return s.parts[p.partition] != p })
	}
	s.sink.metrics.skipped.Add(float64(n))
	for _, p := range s.parts {
		if p.Next > p.Stored || !s.fill.complete {
			steps = append(steps, step{p.partition, p.token, p.Stored, p.Next})
		}
	}
	sortSteps(steps)
	return steps
}

// written records that the database has the batch up to steps.
func (s *session) written(steps []step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
	s.sink.metrics.lagSeconds.Set(0)
	for _, step := range steps {
		p := s.parts[step.partition]
		if p == nil || p.token != step.token {
			continue
		}
		p.Stored = step.next
		s.sink.metrics.lag.Put(p.partition, p.End-p.Stored)
	}
}
