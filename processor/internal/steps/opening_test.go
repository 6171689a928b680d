package steps

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/recordbatch"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// TestSilentFoldPublishesNothing: records up to the committed offsets were published before; all
// later ones are published, and no later change is drained without being published.
func TestSilentFoldPublishesNothing(t *testing.T) {
	s := newStage(t, opening.Plan{From: projections.Position{2, 0, 0}, Until: projections.Position{10, 5, 0}, Published: true}, nil)
	if s.w.Life.State() != life.CatchingUp {
		t.Fatal("it is live before it has caught up")
	}
	s.add(events.Messages, 20)
	s.step()
	if len(s.fold.folded) != 0 {
		t.Fatal("the reads, which are behind, are not waited for")
	}
	s.pass(s.w.cfg.MergeWait)
	s.step()
	if s.fold.position[events.Messages] != 10 {
		t.Fatalf("messages are folded up to %d, want 10 until the reads have come as far", s.fold.position[events.Messages])
	}
	if len(s.sent)+len(s.acked) != 0 || s.w.Life.State() != life.CatchingUp {
		t.Fatal("something was published or committed before it caught up")
	}
	if len(s.cuts) != 1 {
		t.Fatal("a rebuild is not stored as it goes")
	}
	if !s.fold.quiet {
		t.Error("the fold does not know that nobody is told")
	}
	s.write()
	s.add(events.Reads, 6)
	s.step()
	if s.w.Life.State() != life.Live || s.w.Live.Load() == nil {
		t.Fatal("it has caught up and is not live")
	}
	if s.fold.quiet {
		t.Error("the fold does not know that it is to tell")
	}
	if len(s.sent) != 1 || len(s.sent[0]) != 13 {
		t.Fatalf("published %d sets, want the 12 messages and the read beyond what was committed in one", len(s.sent))
	}
}

// TestOpeningEndsOverAGap: the records before the goal are gone from the log, and the next record
// is beyond it.
func TestOpeningEndsOverAGap(t *testing.T) {
	s := newStage(t, opening.Plan{Until: projections.Position{10, 0, 0}, Published: true}, nil)
	s.add(events.Messages, 4)
	s.step()
	s.next[events.Messages] = 12
	s.add(events.Messages, 1)
	s.step()
	if s.w.Life.State() != life.Live {
		t.Errorf("the position is %v and it is not live", s.fold.position)
	}
}

// TestOpeningEndsWithAnEmptyBatch: the records before the goal are gone from the log, and the
// fetched part ends there.
func TestOpeningEndsWithAnEmptyBatch(t *testing.T) {
	s := newStage(t, opening.Plan{Until: projections.Position{10, 0, 0}, Published: true}, nil)
	var records []*kgo.Record
	for range 4 {
		records = append(records, s.record(events.Messages, eventValue(t, events.Messages)))
	}
	s.w.Inbox.FetchBatches(events.Messages, append(recordbatch.Encode(t, kgo.NoCompression(), records), recordbatch.Empty(4, 10)...), 10, 10)
	s.step()
	if s.w.Life.State() != life.Live || len(s.fold.folded) != 4 {
		t.Errorf("the position is %v, %v, after %d records", s.fold.position, s.w.Life.State(), len(s.fold.folded))
	}
}

func TestCleanStopWhileOpening(t *testing.T) {
	s := newStage(t, opening.Plan{Until: projections.Position{10, 0, 0}, Published: true}, nil)
	s.add(events.Messages, 4)
	s.step()
	s.w.Inbox.Stop(inbox.StopClean)
	s.step()
	s.write()
	if !s.step() || s.fold.stored[events.Messages] != 4 {
		t.Errorf("stored %v, want what was rebuilt so far", s.fold.stored)
	}
	if len(s.sent)+len(s.acked) != 0 {
		t.Error("a partition that opens published or committed something")
	}
}

// TestIncomparablePositionsArePublished: two overlapping owners have left a store and a commit at
// incomparable positions. The partition publishes the changes between them, and does not answer
// until it has folded them (G9, G10).
func TestIncomparablePositionsArePublished(t *testing.T) {
	s := newStage(t, opening.Plan{From: projections.Position{5, 0, 0}, Until: projections.Position{5, 3, 0}}, nil)
	s.add(events.Reads, 2)
	s.step()
	if s.w.Life.State() != life.CatchingUp {
		t.Fatalf("%v at %v, before what the group has committed", s.w.Life.State(), s.w.Fold.Position())
	}
	s.ack()
	s.add(events.Reads, 1)
	s.pass(2 * fanoutRest)
	s.step()
	if s.w.Life.State() != life.Live {
		t.Errorf("%v at %v", s.w.Life.State(), s.w.Fold.Position())
	}
	if len(s.sent) != 2 || len(s.sent[0]) != 2 || len(s.sent[1]) != 1 {
		t.Errorf("published %d sets", len(s.sent))
	}
}
