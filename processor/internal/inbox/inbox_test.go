package inbox

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/projections"
)

// flow records pauses and resumptions.
type flow []string

func (f *flow) set(in events.Input, paused bool) {
	*f = append(*f, map[bool]string{true: "pause ", false: "resume "}[paused]+in.String())
}

func ofSize(n int) []*kgo.Record { return []*kgo.Record{{Value: make([]byte, n-merge.RecordOverhead)}} }

func TestInboxPausesAndResumes(t *testing.T) {
	var total atomic.Int64
	var f flow
	b := New(0, 1000, &total, f.set)
	b.Expect(projections.Position{})
	b.Fetch(events.Reads, ofSize(600), 1)
	b.Fetch(events.Messages, ofSize(600), 1)
	b.Fetch(events.Reads, ofSize(600), 2)
	b.Fetch(events.Reads, ofSize(600), 3)
	if want := (flow{"pause chat.reads"}); !slices.Equal(f, want) {
		t.Fatalf("got %q, want %q: each input for itself, and once", f, want)
	}
	b.Consumed([events.NumInputs]int64{0, 600, 0})
	b.Consumed([events.NumInputs]int64{0, 600, 0})
	if len(f) != 1 {
		t.Fatalf("got %q: resumed with more than half of the limit at hand", f)
	}
	b.Consumed([events.NumInputs]int64{0, 600, 0})
	if want := (flow{"pause chat.reads", "resume chat.reads"}); !slices.Equal(f, want) {
		t.Errorf("got %q, want %q", f, want)
	}
	if total.Load() != 600 || b.Queued() != 600 {
		t.Errorf("total %d, queued %d, want the message's 600", total.Load(), b.Queued())
	}
}

func TestClosedInboxHoldsNothing(t *testing.T) {
	var total atomic.Int64
	var f flow
	b := New(0, 1000, &total, f.set)
	b.Expect(projections.Position{})
	b.Fetch(events.Reads, ofSize(1600), 1)
	b.Close(true)
	b.Fetch(events.Messages, ofSize(600), 1)
	b.Consumed([events.NumInputs]int64{0, 1600, 0})
	b.PublishDone(nil)
	if total.Load() != 0 || b.Queued() != 0 || len(b.Take().Fetched[events.Messages]) != 0 {
		t.Errorf("total %d, queued %d after the end", total.Load(), b.Queued())
	}
	if want := (flow{"pause chat.reads", "pause chat.messages", "pause chat.deliveries"}); !slices.Equal(f, want) {
		t.Errorf("got %q, want %q: what nobody folds is not fetched", f, want)
	}
}

// TestFailedInboxIsNotFetched: a client reports some errors with each fetch, so an input that
// cannot be fetched is paused after the first error. Neither free space in the inbox nor free space
// on the disk resumes it.
func TestFailedInboxIsNotFetched(t *testing.T) {
	var f flow
	b := New(0, 1000, new(atomic.Int64), f.set)
	b.Expect(projections.Position{})
	b.Fetch(events.Reads, ofSize(1600), 1)
	for range 3 {
		b.Fail(errors.New("the topic is gone"))
	}
	b.Consumed([events.NumInputs]int64{0, 1600, 0})
	b.PauseAll(true)
	b.PauseAll(false)
	b.Close(true)
	if want := (flow{"pause chat.reads", "pause chat.messages", "pause chat.deliveries"}); !slices.Equal(f, want) {
		t.Errorf("got %q, want %q: each once", f, want)
	}
}

func TestAbortOverridesCleanStop(t *testing.T) {
	b := New(0, 1, new(atomic.Int64), func(events.Input, bool) {})
	b.Stop(StopClean)
	b.Stop(StopAbort)
	b.Stop(StopClean)
	if got := b.Take().Stop; got != StopAbort {
		t.Errorf("stop is %d", got)
	}
	if got := b.Take().Stop; got != StopAbort {
		t.Errorf("the order to stop was forgotten: %d", got)
	}
}

// TestInboxBeforeItsBeginning: records that come before Expect were fetched for an earlier worker
// of the partition, and would look like a gap.
func TestInboxBeforeItsBeginning(t *testing.T) {
	var total atomic.Int64
	b := New(0, 1000, &total, func(events.Input, bool) { t.Error("it is paused or resumed") })
	b.Fetch(events.Reads, ofSize(1600), 1)
	if n := b.Take(); len(n.Fetched[events.Reads]) != 0 || b.Queued() != 0 || total.Load() != 0 {
		t.Errorf("%d records and %d bytes are kept", len(n.Fetched[events.Reads]), b.Queued())
	}
}
