// Package skips logs the records that the feed skips: at most one line a second, with the number of
// records that it is about.
package skips

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/loglimit"
)

// Log counts skipped records until a line about them is due. A line names the last one. Log is not
// safe for concurrent use.
type Log struct {
	log   *slog.Logger
	now   func() time.Time
	lines loglimit.Lines[skipped]
}

type skipped struct {
	topic     string
	partition int32
	offset    int64
	err       error
}

// New logs to l by the clock now.
func New(l *slog.Logger, now func() time.Time) *Log { return &Log{log: l, now: now} }

// Add counts a record that was skipped because of err.
func (l *Log) Add(r *kgo.Record, err error) {
	l.lines.Add(1, skipped{r.Topic, r.Partition, r.Offset, err})
}

// Poll logs a line if it is due, then calls poll, whose context ends when the next line is due.
func (l *Log) Poll(ctx context.Context, poll func(context.Context) kgo.Fetches) kgo.Fetches {
	l.lines.Due(l.now(), l.write)
	if next := l.lines.Next(); !next.IsZero() {
		within, cancel := context.WithTimeout(ctx, next.Sub(l.now()))
		defer cancel()
		ctx = within
	}
	return poll(ctx)
}

// Woken reports whether an error of fetches means only that Poll ended the context.
func Woken(topic string, err error) bool {
	return topic == "" && errors.Is(err, context.DeadlineExceeded)
}

// End logs the records that no line is about yet.
func (l *Log) End() { l.lines.Rest(l.write) }

func (l *Log) write(last skipped, count int) {
	l.log.Warn("records were skipped; the error is about the last one", "topic", last.topic, "partition", last.partition, "offset", last.offset,
		"err", last.err, "count", count)
}
