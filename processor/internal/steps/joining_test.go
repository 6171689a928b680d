package steps

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
)

// late returns a stage that has n records of in to fold, all of them written behind ago. The store
// is never cut, unless change has it cut.
func late(t *testing.T, in events.Input, n int, behind time.Duration, change func(*setup.Config)) *stage {
	t.Helper()
	s := newStage(t, opening.Plan{}, func(c *setup.Config) {
		if c.BatchRecords, c.CutEvery = 256, time.Hour; change != nil {
			change(c)
		}
	})
	s.addAt(in, n, s.now)
	s.pass(behind)
	s.w.lastFull = s.now
	return s
}

// addAt delivers n events of one input that were written at the same time.
func (s *stage) addAt(in events.Input, n int, written time.Time) {
	records := s.records(in, n)
	for _, r := range records {
		r.Timestamp = written
	}
	s.w.Inbox.Fetch(in, records, s.next[in])
}

// until steps until something is drained. It returns how long that took, at 10 ms a step, and
// whether it was a drain with the fan-out.
func (s *stage) until() (took time.Duration, full bool) {
	s.t.Helper()
	n, began := len(s.fold.drains), s.now
	for range 300 {
		s.w.safeStep()
		if len(s.fold.drains) > n {
			return s.now.Sub(began), s.fold.drains[n]
		}
		s.pass(10 * time.Millisecond)
	}
	s.t.Fatal("nothing is drained in 3 s")
	return 0, false
}

// usual expects that users' own changes are published as usual.
func (s *stage) usual(what string) {
	s.t.Helper()
	if took, full := s.until(); full || took > 20*time.Millisecond {
		s.t.Errorf("%s: drained after %v, with the fan-out %v, want users' own changes within 20 ms", what, took, full)
	}
}

const many = 300 * lockRecords // records that are not folded within 2 s

// TestAPartitionThatIsBehindJoinsItsChanges for longer the further it is behind, and then publishes
// everything at once. It folds on meanwhile, also while a set is published.
func TestAPartitionThatIsBehindJoinsItsChanges(t *testing.T) {
	for _, c := range []struct {
		behind, atLeast, atMost time.Duration
	}{
		{4 * time.Second, 500 * time.Millisecond, 700 * time.Millisecond},
		{time.Minute, time.Second, time.Second},
	} {
		s := late(t, events.Messages, many, c.behind, nil)
		for range 2 {
			before := s.fold.position[events.Messages]
			if took, full := s.until(); !full || took < c.atLeast || took > c.atMost {
				t.Errorf("%v behind: drained after %v, with the fan-out %v, want everything after %v to %v", c.behind, took, full, c.atLeast, c.atMost)
			}
			if n := s.fold.position[events.Messages] - before; n < 40*lockRecords {
				t.Errorf("%v behind: %d records were folded meanwhile, want some %d", c.behind, n, 50*lockRecords)
			}
			s.ack()
		}
		if s.fold.recordDrains != 0 {
			t.Errorf("%v behind: channels' records were published %d times on their own", c.behind, s.fold.recordDrains)
		}
	}

	s := late(t, events.Messages, many, time.Minute, nil)
	s.until()
	for range 20 {
		s.w.safeStep()
	}
	if s.w.flight == nil || s.w.pending < 15*lockRecords {
		t.Errorf("in flight %v, %d records folded meanwhile, want some %d", s.w.flight != nil, s.w.pending, 20*lockRecords)
	}
}

// TestAPartitionJoinsNoLongerThanItMust: at the end of the backlog it publishes at once, and what is
// written after that is published as usual.
func TestAPartitionJoinsNoLongerThanItMust(t *testing.T) {
	late(t, events.Messages, many, 1900*time.Millisecond, nil).usual("1.9 s behind")
	late(t, events.Reads, many, time.Minute, nil).usual("only reads")
	late(t, events.Messages, many, time.Minute, func(c *setup.Config) { c.UndrainedPairs = 200 }).usual("many changes")

	s := late(t, events.Messages, 10, time.Minute, nil)
	if took, full := s.until(); !full || took > 20*time.Millisecond {
		t.Errorf("no backlog: drained after %v, with the fan-out %v, want everything at once", took, full)
	}
	s.ack()
	s.addAt(events.Messages, many, s.now)
	s.usual("caught up")

	s = late(t, events.Messages, many, time.Minute, nil)
	s.w.safeStep()
	s.w.Inbox.Stop(inbox.StopClean)
	if took, full := s.until(); !full || took > 20*time.Millisecond {
		t.Errorf("a stop: drained after %v, with the fan-out %v, want everything at once", took, full)
	}
}

func TestJoinsFor(t *testing.T) {
	const pairs = 1000 // UndrainedPairs
	for _, c := range []struct {
		what    string
		pending int
		own     int // pairs that changed by themselves
		fanout  int
		change  func(*Worker)
		want    time.Duration
	}{
		{"behind", 10, 5, 5, func(*Worker) {}, 750 * time.Millisecond},
		{"far behind", 10, 5, 5, func(w *Worker) { w.oldest = 1 }, time.Second},
		{"no fan-out", 10, 5, 0, func(*Worker) {}, 0},
		{"many pairs", 10, 5, pairs - 5, func(*Worker) {}, 0},
		{"many records", pairs, 5, 5, func(*Worker) {}, 0},
		{"a dead letter", 10, 5, 5, func(w *Worker) { w.dead = make([]*kgo.Record, 1) }, 0},
		{"a replay", 10, 5, 5, func(w *Worker) { w.replaying = true }, 0},
		{"nothing was folded", 10, 5, 5, func(w *Worker) { w.oldest = 0 }, 0},
		{"no timestamp", 10, 5, 5, func(w *Worker) { w.oldest = -1 }, 0},
		{"a timestamp in the future", 10, 5, 5, func(w *Worker) { w.oldest += 3_600_000 }, 0},
	} {
		s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.UndrainedPairs = pairs })
		s.w.pending, s.w.oldest = c.pending, s.now.Add(-6*time.Second).UnixMilli()
		s.fold.changed, s.fold.fanout = c.own+c.fanout, c.fanout
		c.change(s.w)
		if got := s.w.joinsFor(s.now); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestNobodySpinsBehindACutWhileChangesAreJoined: a partition that is behind and may not fold sleeps
// until the joined changes are due.
func TestNobodySpinsBehindACutWhileChangesAreJoined(t *testing.T) {
	s := late(t, events.Messages, many, time.Minute, func(c *setup.Config) { c.CutBytes, setup.HooksOf(c).LockRecords = 50, 10 })
	for !s.w.cutting || s.w.mayFold() {
		s.w.safeStep()
		s.ack()
	}
	if s.w.joins != time.Second || s.w.flight != nil || !s.w.unpublished() {
		t.Fatalf("joins for %v, in flight %v, unpublished %v: not the case that is meant", s.w.joins, s.w.flight != nil, s.w.unpublished())
	}
	n := len(s.fold.drains)
	sleep, _ := s.w.safeStep()
	if sleep <= s.w.cfg.FanoutDelay || sleep > time.Second || len(s.fold.drains) != n {
		t.Fatalf("it sleeps %v and has drained %v, want nothing before the changes are due", sleep, s.fold.drains[n:])
	}
	s.pass(sleep)
	s.w.safeStep()
	if got := s.fold.drains[n:]; len(got) != 1 || !got[0] {
		t.Errorf("drains %v when they are due, want everything", got)
	}
}
