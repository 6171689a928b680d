package steps

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// TestRecordsBeforeTheOrder: the order to begin comes, and the first records are fetched, before
// the partition's goroutine runs again. Whichever of the two it sees first, no record is lost. A
// goroutine that dropped records while it waits for the order would leave the partition "opening"
// forever, or continue after a gap.
func TestRecordsBeforeTheOrder(t *testing.T) {
	for range 200 { // which one it sees first is random
		s := readyStage(t, projections.Position{}, nil)
		s.w.orders = make(chan opening.Order, 1)
		s.w.Begin(opening.Order{Ends: projections.Position{3}})
		s.add(events.Messages, 3)
		if !s.w.awaitOrder() {
			t.Fatal("the partition ended instead of beginning")
		}
		s.step()
		if n := len(s.fold.folded); n != 3 {
			t.Fatalf("%d of 3 records are folded", n)
		}
	}
}

// TestStopBeforeTheOrder: a partition that is taken away before it has begun ends.
func TestStopBeforeTheOrder(t *testing.T) {
	s := readyStage(t, projections.Position{}, nil)
	s.w.orders = make(chan opening.Order, 1)
	s.w.Inbox.Stop(inbox.StopClean)
	if s.w.awaitOrder() {
		t.Fatal("the partition begins although it was taken away")
	}
}
