package presence

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/retry"
)

// A record at which judging panics must not block later records. Reporter tries it judgeTries
// times, since the panic may not happen again, and then skips it: that message is reported as
// queued for nobody.

// judgeTries is how often a record at which judging panics is tried.
const judgeTries = 3

// judgeOrPass judges a batch. If that panics, it judges each record alone, so that only the faulty
// one is skipped.
func (q *Reporter) judgeOrPass(ctx context.Context, records []*kgo.Record) error {
	defer func() { q.passed.Due(time.Now(), q.logSkipped) }()
	err := q.judgeGuarded(ctx, records)
	if guard.Of(err) == nil {
		return err
	}
	for _, r := range records {
		if err := q.judgeOne(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// judgeOne judges a record, and skips it if that panics each time. It returns other errors.
func (q *Reporter) judgeOne(ctx context.Context, r *kgo.Record) error {
	for try := 1; ; try++ {
		err := q.judgeGuarded(ctx, []*kgo.Record{r})
		switch {
		case guard.Of(err) == nil:
			return err
		case try == judgeTries:
			q.cfg.Failed.Inc()
			q.passed.Add(1, fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err))
			return nil
		}
		retry.Sleep(ctx, 10*time.Millisecond)
	}
}

// judgeGuarded is judge with panics as errors. After a panic a roster may be partly updated, so all
// are dropped.
func (q *Reporter) judgeGuarded(ctx context.Context, records []*kgo.Record) error {
	err := guard.Err("the judging of messages", func() error { return q.judge(ctx, records) })
	if guard.Of(err) != nil {
		q.rosters.forget()
	}
	return err
}

// logSkipped logs that n messages were skipped. last is the error of the last one.
func (q *Reporter) logSkipped(last error, n int) {
	q.cfg.Logger.Error("messages are skipped and not reported as queued, because checking them panics; the error names the last one",
		append(guard.Attrs(last), "messages", n)...)
}
