package steps

import (
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// TestStoreIsNeverAheadOfTheAcknowledgements: a cut is applied after the brokers have acknowledged
// the set that it was taken with.
func TestStoreIsNeverAheadOfTheAcknowledgements(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 3)
	s.pass(2 * time.Second) // a cut is due
	s.step()
	s.add(events.Reads, 4)
	s.step()
	if s.fold.cuts != 1 || len(s.cuts) != 0 {
		t.Fatalf("%d cuts taken and %d to be written before any acknowledgement, want 1 and 0", s.fold.cuts, len(s.cuts))
	}
	s.ack()
	s.step()
	s.write()
	if want := (projections.Position{0, 3}); s.fold.stored != want {
		t.Errorf("stored is %v, want %v: what was folded after the cut is not in it", s.fold.stored, want)
	}
	s.pass(2 * time.Second)
	s.step()
	if s.fold.cuts != 1 {
		t.Error("a second cut was taken while the set in flight may still fail")
	}
}

func TestIdlePartitionIsStoredToo(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 1)
	s.step()
	s.ack()
	s.step()
	if sleep, _ := s.w.safeStep(); sleep > s.w.cfg.CutEvery {
		t.Errorf("sleeps for %v although something is dirty", sleep)
	}
	s.pass(time.Second)
	s.step()
	s.write()
	s.step()
	if s.fold.stored != s.fold.position {
		t.Errorf("stored %v, folded %v", s.fold.stored, s.fold.position)
	}
	s.pass(time.Hour)
	s.step()
	if s.fold.cuts != 1 {
		t.Errorf("%d cuts without a change", s.fold.cuts-1)
	}
}

// TestWhenACutIsDue: the rule of cutDueAt, case by case.
func TestWhenACutIsDue(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *stage)
		after  time.Duration // time since the last cut
		none   bool
	}{
		{name: "a little is dirty", after: 3 * time.Second},
		{name: "what is cut easily is dirty", change: func(s *stage) { s.fold.dirty = cutEasily }, after: 3 * time.Second},
		{name: "more is dirty", change: func(s *stage) { s.fold.dirty = cutEasily + 1 }, after: 30 * time.Second},
		{name: "more is dirty beside cold channels, folded soon", change: func(s *stage) {
			s.fold.dirty, s.fold.cold, s.w.foldTook = cutEasily+1, true, cutFolded-1
		}, after: 30 * time.Second},
		{name: "more is dirty beside cold channels, folded for long", change: func(s *stage) {
			s.fold.dirty, s.fold.cold, s.w.foldTook = cutEasily+1, true, cutFolded
		}, after: 3 * time.Second},
		{name: "more is dirty beside cold channels, replayed for long", change: func(s *stage) {
			s.fold.dirty, s.fold.cold, s.w.foldTook, s.w.replaying = cutEasily+1, true, cutFolded, true
		}, after: 30 * time.Second},
		{name: "more is dirty, folded for long, all in memory", change: func(s *stage) { s.fold.dirty, s.w.foldTook = cutEasily+1, cutFolded }, after: 30 * time.Second},
		{name: "CutBytes are dirty", change: func(s *stage) { s.fold.dirty = s.w.cfg.CutBytes }, after: time.Second},
		{name: "the partition stops", change: func(s *stage) { s.w.stopping = inbox.StopClean }, after: time.Second},
		{name: "all is stored", change: func(s *stage) { s.fold.stored = s.fold.position; s.w.stored = s.fold.position }, none: true},
		{name: "a cut is being written", change: func(s *stage) { s.w.cutting = true }, none: true},
		{name: "the disk is full", change: func(s *stage) { s.w.diskFull = true }, none: true},
	} {
		s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.CutEvery = 3 * time.Second })
		s.w.flight = &flight{} // so that the step takes no cut itself
		s.add(events.Reads, 1)
		s.step()
		s.pass(time.Second)
		if c.change != nil {
			c.change(s)
		}
		switch at := s.w.cutDueAt(s.now); {
		case c.none != at.IsZero():
			t.Errorf("%s: a cut is due at %v", c.name, at)
		case !c.none && at.Sub(s.w.lastCut) != c.after:
			t.Errorf("%s: a cut is due %v after the last one, want %v", c.name, at.Sub(s.w.lastCut), c.after)
		}
	}
}

// TestFoldingBesideColdChannelsMakesACutDue: the time that folding takes counts from one cut to the
// next.
func TestFoldingBesideColdChannelsMakesACutDue(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.fold.cold, s.fold.dirty = true, cutEasily+1
	s.fold.onFold = func() { s.pass(cutFolded / 2) }
	for cuts := range 3 {
		for range 2 {
			if s.fold.cuts != cuts {
				t.Fatalf("%d cuts are taken, want %d", s.fold.cuts, cuts)
			}
			s.add(events.Reads, 1)
			s.step()
			s.ack()
			s.step()
			s.pass(time.Second)
			s.fold.dirty = cutEasily + 1
		}
		s.step() // the cut is due, a second after the last one and after two records
		s.ack()
		s.group = s.fold.position
		s.step()
		s.write()
		s.step()
	}
}

// TestHowMuchACrashFoldsAgain: the store has all records that were folded more than ten times
// CutEvery ago. If little is dirty, it has all that were folded more than CutEvery ago.
func TestHowMuchACrashFoldsAgain(t *testing.T) {
	const tick = 100 * time.Millisecond
	for dirty, most := range map[int64]time.Duration{1: time.Second, cutEasily: time.Second, cutEasily + 1: 10 * time.Second, setup.DefaultCutBytes / 2: 10 * time.Second} {
		s := newStage(t, opening.Plan{}, nil)
		var longest time.Duration
		folded := []time.Time{} // time at which each offset was folded
		for range 400 {
			s.add(events.Reads, 1)
			folded = append(folded, s.now)
			s.step()
			s.fold.dirty = dirty
			s.ack()
			s.step()
			for len(s.cuts) > 0 {
				s.write()
				s.step()
			}
			if first := s.fold.stored[events.Reads]; first < int64(len(folded)) {
				longest = max(longest, s.now.Sub(folded[first]))
			}
			s.pass(tick)
		}
		if longest > most || longest < most-3*tick {
			t.Errorf("%d bytes dirty: the store was up to %v behind what was folded, want %v", dirty, longest, most)
		}
	}
}

// TestNobodySpinsBehindACut: while the store applies a cut, newly dirty state waits for it. The
// goroutine sleeps although there is a backlog and a held fan-out.
func TestNobodySpinsBehindACut(t *testing.T) {
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.CutBytes, c.CutEvery, c.FanoutDelay = 50, time.Hour, time.Hour })
	s.add(events.Messages, 5000)
	for range 20 {
		s.pass(time.Second)
		_, _ = s.w.safeStep()
		s.ack()
	}
	sleep, _ := s.w.safeStep()
	if !s.w.cutting || s.w.mayFold() || !s.w.unpublished() || !s.w.merge.Any() || s.w.flight != nil {
		t.Fatalf("cutting %v, may fold %v, held %v, backlog %v: not the case that is meant", s.w.cutting, s.w.mayFold(), s.w.unpublished(), s.w.merge.Any())
	}
	if sleep == 0 {
		t.Error("it does not sleep")
	}
}

// TestNobodyWaitsForACut: the store applies a cut for a long time, and newly dirty state waits for
// it. Folded changes are published nevertheless: a read's own delta after BatchTime, the fan-out
// after FanoutDelay.
func TestNobodyWaitsForACut(t *testing.T) {
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.CutBytes, c.CutEvery, setup.HooksOf(c).LockRecords = 50, time.Hour, 10 })
	s.add(events.Messages, 5000)
	s.step()
	s.ack()
	s.step() // the cut is being written
	if len(s.cuts) != 1 || s.w.mayFold() || !s.w.merge.Any() || s.w.flight != nil || s.w.pending == 0 {
		t.Fatalf("%d cuts, may fold %v, in flight %v, %d pending: not the case that is meant", len(s.cuts), s.w.mayFold(), s.w.flight != nil, s.w.pending)
	}
	for _, c := range []struct {
		delay time.Duration
		full  bool
	}{{s.w.cfg.BatchTime, false}, {s.w.cfg.FanoutDelay - s.w.cfg.BatchTime, true}} {
		n := len(s.fold.drains)
		if sleep, _ := s.w.safeStep(); sleep != c.delay || len(s.fold.drains) != n {
			t.Fatalf("it sleeps %v and has drained %v, want %v and nothing", sleep, s.fold.drains[n:], c.delay)
		}
		s.pass(c.delay)
		s.step()
		if got := s.fold.drains[n:]; len(got) != 1 || got[0] != c.full {
			t.Fatalf("drains %v after %v, want one, everything: %v", got, c.delay, c.full)
		}
		s.ack()
	}
}

// TestReplayingPartitionsCutRarely: in a replaying partition a share of the memory may be dirty.
// Once the partition is live, at most CutBytes may be.
func TestReplayingPartitionsCutRarely(t *testing.T) {
	s := newStage(t, opening.Plan{Until: projections.Position{0, 100, 0}, Published: true}, func(c *setup.Config) {
		c.CutBytes, c.CutEvery, setup.HooksOf(c).LockRecords = 10, time.Hour, 5
	})
	s.fold.rareCut = 60
	s.add(events.Reads, 59)
	s.step()
	if s.fold.cuts != 0 {
		t.Fatalf("%d cuts of a partition that replays with less dirty than the share", s.fold.cuts)
	}
	s.add(events.Reads, 6)
	s.step()
	if s.fold.cuts != 1 {
		t.Fatalf("%d cuts of a partition that replays with the share dirty, want 1", s.fold.cuts)
	}
	s.write()
	s.add(events.Reads, 35)
	s.step()
	if s.w.Life.State() != life.Live {
		t.Fatal("the partition is not live at its goal")
	}
	s.add(events.Reads, 1)
	s.step()
	if s.fold.cuts != 2 {
		t.Errorf("%d cuts after the partition is live with more than CutBytes dirty, want 2", s.fold.cuts)
	}
}
