package steps

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
)

// late returns a stage that has n records of in to fold, all of them written behind ago. The store is
// never cut.
func late(t *testing.T, in events.Input, n int, behind time.Duration, change func(*setup.Config)) *stage {
	t.Helper()
	s := newStage(t, opening.Plan{}, func(c *setup.Config) {
		if c.BatchRecords, c.CutEvery = 256, time.Hour; change != nil {
			change(c)
		}
	})
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = s.record(in, eventValue(t, in))
		records[i].Timestamp = s.now
	}
	s.w.Inbox.Fetch(in, records, s.next[in])
	s.pass(behind)
	s.w.lastFull = s.now
	return s
}

// until steps until something is drained and acknowledges it. It returns how long that took, at 10 ms
// a step, and whether it was a drain with the fan-out.
func (s *stage) until() (took time.Duration, full bool) {
	s.t.Helper()
	n, began := len(s.fold.drains), s.now
	for range 300 {
		s.w.safeStep()
		if len(s.fold.drains) > n {
			s.ack()
			return s.now.Sub(began), s.fold.drains[n]
		}
		s.pass(10 * time.Millisecond)
	}
	s.t.Fatal("nothing is drained in 3 s")
	return 0, false
}

// TestAPartitionThatIsBehindJoinsItsChanges for longer the further it is behind, and then publishes
// everything at once.
func TestAPartitionThatIsBehindJoinsItsChanges(t *testing.T) {
	for _, c := range []struct {
		behind, atLeast, atMost time.Duration
	}{
		{4 * time.Second, 500 * time.Millisecond, 700 * time.Millisecond},
		{time.Minute, joinMost, joinMost},
	} {
		s := late(t, events.Messages, 300*lockRecords, c.behind, nil)
		for range 2 {
			if took, full := s.until(); !full || took < c.atLeast || took > c.atMost {
				t.Errorf("%v behind: drained after %v, with the fan-out %v, want everything after %v to %v", c.behind, took, full, c.atLeast, c.atMost)
			}
		}
		if s.fold.recordDrains != 0 {
			t.Errorf("%v behind: channels' records were published %d times on their own", c.behind, s.fold.recordDrains)
		}
	}
}

// TestAPartitionJoinsNoLongerThanItMust: it publishes users' own changes as usual if it is hardly
// behind, if no fan-out waits, or if as many pairs have changed as memory has room for. At the end
// of the backlog it publishes at once.
func TestAPartitionJoinsNoLongerThanItMust(t *testing.T) {
	usual := func(what string, s *stage) {
		t.Helper()
		if took, full := s.until(); full || took > 20*time.Millisecond {
			t.Errorf("%s: drained after %v, with the fan-out %v, want users' own changes within 20 ms", what, took, full)
		}
	}
	usual("2 s behind", late(t, events.Messages, 300*lockRecords, 1900*time.Millisecond, nil))
	usual("only reads", late(t, events.Reads, 300*lockRecords, time.Minute, nil))
	usual("many changes", late(t, events.Messages, 300*lockRecords, time.Minute, func(c *setup.Config) { c.UndrainedPairs = 200 }))

	s := late(t, events.Messages, 10, time.Minute, nil)
	if took, full := s.until(); !full || took > 20*time.Millisecond {
		t.Errorf("no backlog: drained after %v, with the fan-out %v, want everything at once", took, full)
	}
}
