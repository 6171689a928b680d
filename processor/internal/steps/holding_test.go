package steps

import (
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// holding returns a stage whose worker holds a cut that forgets.
func holding(t *testing.T) *stage {
	t.Helper()
	return holdingCut(t, func(f *fakeFold) { f.forgets = true })
}

// holdingCut returns a stage whose worker holds its first cut.
func holdingCut(t *testing.T, change func(*fakeFold)) *stage {
	t.Helper()
	s := newStage(t, opening.Plan{}, nil)
	change(s.fold)
	s.add(events.Reads, 3)
	s.pass(2 * time.Second) // a cut is due
	s.step()
	s.ack()
	s.step()
	if s.fold.cuts != 1 || len(s.cuts) != 0 || s.acked[len(s.acked)-1] != s.fold.position {
		t.Fatalf("%d cuts are taken and %d to be written, acknowledged is %v; want 1 and 0 of what is acknowledged", s.fold.cuts, len(s.cuts), s.acked)
	}
	return s
}

// TestACutThatForgetsWaitsForTheOffsets: the cut is written once the group has committed its
// position. The fold continues meanwhile.
func TestACutThatForgetsWaitsForTheOffsets(t *testing.T) {
	s := holding(t)
	s.add(events.Reads, 1)
	s.group = projections.Position{0, 2}
	s.w.OffsetsMoved()
	s.step()
	if len(s.cuts) != 0 || s.fold.position[events.Reads] != 4 {
		t.Fatalf("%d cuts wait to be written and %v is folded, want 0 and 4 reads", len(s.cuts), s.fold.position)
	}
	s.group = projections.Position{0, 3}
	s.w.OffsetsMoved()
	select {
	case <-s.w.Inbox.Wake:
	default:
		t.Error("nobody wakes the worker")
	}
	s.step()
	s.write()
	s.step()
	if want := (projections.Position{0, 3}); s.fold.stored != want {
		t.Errorf("stored is %v, want %v", s.fold.stored, want)
	}
	s.fold.forgets = false
	s.ack()
	s.pass(2 * time.Second)
	s.step()
	s.ack()
	s.step()
	s.write()
	if s.fold.stored != s.fold.position {
		t.Errorf("stored is %v, want %v: a cut that forgets nothing does not wait", s.fold.stored, s.fold.position)
	}
}

// TestACutBesideColdChannelsWaitsForTheOffsets: a crash leaves a store with cold channels not ahead of
// the group's offsets. If the group does not commit, the cut is written a second later: only the next
// opening would be slower. A worker that stops in order does not wait, because its offsets are
// committed after its last cut.
func TestACutBesideColdChannelsWaitsForTheOffsets(t *testing.T) {
	for name, c := range map[string]struct {
		then    func(s *stage)
		written bool
	}{
		"the group commits": {func(s *stage) {
			s.group = s.fold.position
			s.w.OffsetsMoved()
		}, true},
		"it does not": {func(s *stage) {
			if sleep, _ := s.w.safeStep(); sleep <= 0 || sleep > pendingCutPatience {
				t.Errorf("the worker sleeps for %v, want at most %v", sleep, pendingCutPatience)
			}
			s.pass(pendingCutPatience)
		}, true},
		"it does not yet":    {func(s *stage) { s.pass(pendingCutPatience - 1) }, false},
		"the worker stops":   {func(s *stage) { s.w.Inbox.Stop(inbox.StopClean) }, true},
		"the worker is lost": {func(s *stage) { s.w.Inbox.Stop(inbox.StopAbort) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := holdingCut(t, func(f *fakeFold) { f.cold = true })
			c.then(s)
			s.step()
			if written := len(s.cuts) == 1; written != c.written {
				t.Fatalf("the cut is written: %v", written)
			}
			if !c.written {
				return
			}
			s.write()
			s.step()
			if s.fold.stored != s.fold.position {
				t.Errorf("stored is %v, want %v", s.fold.stored, s.fold.position)
			}
		})
	}
}

// TestTheLastCutOfAStopDoesNotWait: a worker that stops in order takes its last cut and writes it.
func TestTheLastCutOfAStopDoesNotWait(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.fold.cold = true
	s.add(events.Reads, 1)
	s.step()
	s.ack()
	s.w.Inbox.Stop(inbox.StopClean)
	s.step()
	s.ack()
	s.step()
	if len(s.cuts) != 1 {
		t.Errorf("%d cuts are to be written, want 1", len(s.cuts))
	}
}

// TestACutOfAReplayDoesNotWait: a former owner has already committed what a partition replays.
func TestACutOfAReplayDoesNotWait(t *testing.T) {
	s := newStage(t, opening.Plan{Until: projections.Position{0, 5}, Published: true}, nil)
	s.fold.forgets = true
	s.add(events.Reads, 3)
	s.pass(2 * time.Second)
	s.step()
	s.write()
	if want := (projections.Position{0, 3}); s.fold.stored != want {
		t.Errorf("stored is %v, want %v", s.fold.stored, want)
	}
}

// TestStopWithACutThatIsHeld: a worker that stops waits a second for the group, and then leaves its
// store at the earlier position. A worker that is cut off does not wait.
func TestStopWithACutThatIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		stop    inbox.StopKind
		commits bool
		waits   bool
	}{
		"in order, and the group commits": {inbox.StopClean, true, true},
		"in order, and it does not":       {inbox.StopClean, false, true},
		"cut off":                         {inbox.StopAbort, false, false},
		"cut off when it has committed":   {inbox.StopAbort, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := holding(t)
			s.w.Inbox.Stop(c.stop)
			if c.commits && !c.waits {
				s.group = s.fold.position
			}
			if ended := s.step(); ended == c.waits {
				t.Fatalf("it ends: %v", ended)
			}
			if c.waits {
				if sleep, _ := s.w.safeStep(); sleep <= 0 || sleep > pendingCutPatience {
					t.Errorf("it sleeps for %v, want at most %v", sleep, pendingCutPatience)
				}
			}
			if c.waits && c.commits {
				s.group = s.fold.position
				s.w.OffsetsMoved()
				s.step()
				s.write()
			} else {
				s.pass(pendingCutPatience)
			}
			if !s.step() {
				t.Fatal("it does not end")
			}
			want := projections.Position{}
			if c.waits && c.commits {
				want = s.fold.position
			}
			if s.fold.stored != want || s.w.Failure.Load() != nil {
				t.Errorf("stored is %v, want %v; failed: %v", s.fold.stored, want, s.w.Failure.Load())
			}
		})
	}
}
