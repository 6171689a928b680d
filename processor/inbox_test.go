package processor

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// flow records what was paused and resumed.
type flow []string

func (f *flow) set(in events.Input, paused bool) {
	*f = append(*f, map[bool]string{true: "pause ", false: "resume "}[paused]+in.String())
}

func ofSize(n int) []*kgo.Record { return []*kgo.Record{{Value: make([]byte, n-recordOverhead)}} }

func TestInboxPausesAndResumes(t *testing.T) {
	var total atomic.Int64
	var f flow
	b := newInbox(1000, &total, f.set)
	b.expect(projections.Position{})
	b.fetch(events.Reads, ofSize(600), 1)
	b.fetch(events.Messages, ofSize(600), 1)
	b.fetch(events.Reads, ofSize(600), 2)
	b.fetch(events.Reads, ofSize(600), 3)
	if want := (flow{"pause chat.reads"}); !slices.Equal(f, want) {
		t.Fatalf("got %q, want %q: each input for itself, and once", f, want)
	}
	b.consumed([events.NumInputs]int64{0, 600, 0})
	b.consumed([events.NumInputs]int64{0, 600, 0})
	if len(f) != 1 {
		t.Fatalf("got %q: resumed with more than half of the limit at hand", f)
	}
	b.consumed([events.NumInputs]int64{0, 600, 0})
	if want := (flow{"pause chat.reads", "resume chat.reads"}); !slices.Equal(f, want) {
		t.Errorf("got %q, want %q", f, want)
	}
	if total.Load() != 600 || b.queued() != 600 {
		t.Errorf("total %d, queued %d, want the message's 600", total.Load(), b.queued())
	}
}

func TestClosedInboxHoldsNothing(t *testing.T) {
	var total atomic.Int64
	var f flow
	b := newInbox(1000, &total, f.set)
	b.expect(projections.Position{})
	b.fetch(events.Reads, ofSize(1600), 1)
	b.close(true)
	b.fetch(events.Messages, ofSize(600), 1)
	b.consumed([events.NumInputs]int64{0, 1600, 0})
	b.publishDone(nil)
	if total.Load() != 0 || b.queued() != 0 || len(b.take().fetched[events.Messages]) != 0 {
		t.Errorf("total %d, queued %d after the end", total.Load(), b.queued())
	}
	if want := (flow{"pause chat.reads", "pause chat.messages", "pause chat.deliveries"}); !slices.Equal(f, want) {
		t.Errorf("got %q, want %q: what nobody folds is not fetched", f, want)
	}
}

func TestAbortOverridesCleanStop(t *testing.T) {
	b := newInbox(1, new(atomic.Int64), func(events.Input, bool) {})
	b.stop(stopClean)
	b.stop(stopAbort)
	b.stop(stopClean)
	if got := b.take().stop; got != stopAbort {
		t.Errorf("stop is %d", got)
	}
	if got := b.take().stop; got != stopAbort {
		t.Errorf("the order to stop was forgotten: %d", got)
	}
}

// TestInboxBeforeItsBeginning: what comes before it is known from where on is fetched was fetched for an earlier worker
// of the partition, and would look like a gap.
func TestInboxBeforeItsBeginning(t *testing.T) {
	var total atomic.Int64
	b := newInbox(1000, &total, func(events.Input, bool) { t.Error("it is paused or resumed") })
	b.fetch(events.Reads, ofSize(1600), 1)
	if n := b.take(); len(n.fetched[events.Reads]) != 0 || b.queued() != 0 || total.Load() != 0 {
		t.Errorf("%d records and %d bytes are kept", len(n.fetched[events.Reads]), b.queued())
	}
}
