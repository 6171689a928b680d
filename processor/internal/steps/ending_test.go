package steps

import (
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

func TestCleanStopFinishesWhatIsFoldedAndNoMore(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 1)
	s.step() // in flight
	s.add(events.Reads, 600)
	s.w.receive(s.now)
	s.w.foldSome(s.now)
	s.w.Inbox.Stop(inbox.StopClean)
	if s.step() {
		t.Fatal("ended with a set in flight")
	}
	folded := len(s.fold.folded)
	s.ack()
	s.step()
	s.ack()
	s.step()
	s.write()
	if !s.step() {
		t.Fatal("everything is done and it does not end")
	}
	if len(s.fold.folded) != folded || folded >= 601 {
		t.Errorf("folded %d events, %d of them after it was told to stop", len(s.fold.folded), len(s.fold.folded)-folded)
	}
	if s.fold.stored != s.fold.position || s.acked[len(s.acked)-1] != s.fold.position {
		t.Errorf("folded %v, stored %v, committed %v", s.fold.position, s.fold.stored, s.acked)
	}
}

func TestAbortDropsWhatIsNotAcknowledged(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 5)
	s.pass(2 * time.Second)
	s.step()
	s.w.Inbox.Stop(inbox.StopAbort)
	if !s.step() {
		t.Fatal("an abort waits for acknowledgements")
	}
	s.ack() // too late
	if (s.fold.stored != projections.Position{}) || len(s.acked) != 0 {
		t.Errorf("stored %v, committed %v", s.fold.stored, s.acked)
	}
}

func TestAbortWaitsForTheCutThatIsBeingWritten(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 5)
	s.pass(2 * time.Second)
	s.step()
	s.ack()
	s.step()
	s.w.Inbox.Stop(inbox.StopAbort)
	if s.step() {
		t.Fatal("the store would be closed under the cut")
	}
	s.write()
	if !s.step() {
		t.Fatal("it does not end")
	}
}
