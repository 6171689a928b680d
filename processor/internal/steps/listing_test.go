package steps

import (
	"errors"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// TestIsLiveBeforeItLists: a partition that opens folds what it has before it lists cold channels.
// Once it is live, it does both in turns.
func TestIsLiveBeforeItLists(t *testing.T) {
	s := readyStage(t, projections.Position{}, func(c *setup.Config) {
		setup.HooksOf(c).LockRecords, setup.HooksOf(c).ListChannels = 1, 10
	})
	s.fold.unlisted = 45
	plan := opening.Plan{Until: projections.Position{5, 0, 0}, Published: true}
	s.w.start(s.now, plan, plan.Until)
	s.add(events.Messages, 9)
	turn := func() {
		t.Helper()
		if sleep, ended := s.w.safeStep(); ended || sleep > 0 {
			t.Fatalf("it sleeps %v with %d folded and %d channels to list", sleep, len(s.fold.folded), s.fold.unlisted)
		}
	}
	for s.w.Live.Load() == nil {
		if turn(); s.w.Live.Load() == nil && s.fold.unlisted != 45 {
			t.Fatalf("it lists before it is live, with %d folded", len(s.fold.folded))
		}
	}
	if len(s.fold.folded) > 6 {
		t.Fatalf("it is live after %d records", len(s.fold.folded))
	}
	folded := len(s.fold.folded)
	for i := range 3 {
		before := s.fold.unlisted
		if turn(); s.fold.unlisted != before-10 || len(s.fold.folded) != folded+i+1 {
			t.Fatalf("turn %d: %d folded, %d channels to list", i, len(s.fold.folded), s.fold.unlisted)
		}
	}
	s.step()
	if s.fold.unlisted != 0 || s.w.lists() || len(s.fold.folded) != 9 {
		t.Errorf("it sleeps with %d folded and %d channels to list", len(s.fold.folded), s.fold.unlisted)
	}
}

// TestListsWhenItCannotFold: a partition that opens lists while the merge holds records back and while
// its disk is full, and sleeps once all is listed. A standby lists too.
func TestListsWhenItCannotFold(t *testing.T) {
	for name, make := range map[string]func(s *stage) opening.Plan{
		"a standby": func(s *stage) opening.Plan {
			s.w.standby = true
			return opening.Plan{Published: true}
		},
		"reads are behind": func(*stage) opening.Plan {
			return opening.Plan{Until: projections.Position{10, 5, 0}, Published: true}
		},
		"the disk is full": func(s *stage) opening.Plan {
			s.fold.full = errors.New("no space")
			return opening.Plan{Until: projections.Position{10, 0, 0}, Published: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := readyStage(t, projections.Position{}, func(c *setup.Config) { setup.HooksOf(c).ListChannels = 10 })
			s.fold.unlisted = 1000
			plan := make(s)
			s.w.start(s.now, plan, plan.Until)
			s.add(events.Messages, 10)
			s.step() // fails if the worker never sleeps
			if s.fold.unlisted != 0 || s.w.lists() || !s.w.standby && s.w.Live.Load() != nil {
				t.Errorf("it sleeps with %d channels to list", s.fold.unlisted)
			}
		})
	}
}

// TestFailsIfItCannotList: the partition stops, and its store is not written any more.
func TestFailsIfItCannotList(t *testing.T) {
	s := readyStage(t, projections.Position{}, nil)
	s.fold.unlisted = 10
	s.w.start(s.now, opening.Plan{}, projections.Position{})
	s.fold.listErr = errors.New("the disk fails")
	if ended := s.step(); !ended || s.w.stopping != inbox.StopAbort || !errors.Is(s.w.err, s.fold.listErr) || s.w.Life.State() == life.Live {
		t.Errorf("ended %v, stopping %v, %v, state %v", ended, s.w.stopping, s.w.err, s.w.Life.State())
	}
}
