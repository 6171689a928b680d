package steps

import (
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

func TestFanoutIsJoinedUnderLoad(t *testing.T) {
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.BatchRecords = 256 })
	s.add(events.Messages, 256*20)
	s.pass(10 * time.Millisecond)
	for range 40 {
		s.w.safeStep()
		if s.w.flight != nil {
			s.ack()
		}
	}
	partial, full := 0, 0
	for _, f := range s.fold.drains {
		if f {
			full++
		} else {
			partial++
		}
	}
	if partial == 0 || full == 0 {
		t.Fatalf("%d drains without fan-out and %d with: under load the fan-out waits, at its end it goes out", partial, full)
	}
	last := s.acked[len(s.acked)-1]
	if want := (projections.Position{256 * 20}); last != want || len(s.acked) != full {
		t.Errorf("committed %v, want only what was drained in full, up to %v", s.acked, want)
	}
}

// During a backlog the records of channels do not wait for the fan-out. They go out again after a
// few times the duration of their last publication, and not before.
func TestChannelsDoNotWaitForTheFanoutUnderLoad(t *testing.T) {
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.BatchRecords, c.CutEvery = 256, time.Hour })
	s.add(events.Messages, 256*20)
	drained := func() { // one set without the fan-out, acknowledged 10 ms later
		t.Helper()
		n := len(s.fold.drains)
		for range 6 {
			if s.w.safeStep(); len(s.fold.drains) > n {
				break
			}
		}
		if len(s.fold.drains) != n+1 || s.fold.drains[n] {
			t.Fatalf("drains %v, want one more, without the fan-out", s.fold.drains)
		}
		s.pass(10 * time.Millisecond)
		s.ack()
	}
	drained()
	if s.fold.recordDrains != 1 {
		t.Fatalf("channels' records went out %d times with the first set", s.fold.recordDrains)
	}
	for s.fold.recordDrains == 1 && len(s.fold.drains) < 10 {
		drained()
	}
	if n := len(s.fold.drains); s.fold.recordDrains != 2 || n < 4 {
		t.Errorf("channels' records went out %d times in %d sets of 10 ms each, want twice, %d times that apart", s.fold.recordDrains, n, recordsShare)
	}
}

// TestFanoutRestsWhileChannelsAreBusy: soon after a fan-out, changes are published at once in the
// channel records only; the deltas follow by themselves when the rest of the last fan-out is over,
// and a stop does not wait for that.
func TestFanoutRestsWhileChannelsAreBusy(t *testing.T) {
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.CutEvery = time.Hour })
	s.add(events.Messages, 100)
	s.step()
	s.ack()
	s.step()
	if s.w.lastFanout != 100 {
		t.Fatalf("%d deltas were published, want 100", s.w.lastFanout)
	}
	s.pass(99 * fanoutRest)
	s.add(events.Messages, 1)
	n, records := len(s.fold.drains), s.fold.recordDrains
	s.step()
	if got := s.fold.drains[n:]; len(got) != 1 || got[0] || s.fold.recordDrains != records+1 {
		t.Fatalf("drains %v and %d of records, want one of channels' records alone", got, s.fold.recordDrains-records)
	}
	s.ack()
	if sleep, _ := s.w.safeStep(); sleep != fanoutRest || len(s.fold.drains) != n+1 {
		t.Fatalf("it sleeps %s and has drained %v, want %s and nothing", sleep, s.fold.drains[n+1:], fanoutRest)
	}
	s.pass(fanoutRest)
	s.step()
	if got := s.fold.drains[n+1:]; len(got) != 1 || !got[0] {
		t.Fatalf("drains %v when its time is over, want everything", got)
	}
	s.ack()
	s.add(events.Messages, 1)
	s.w.Inbox.Stop(inbox.StopClean)
	n = len(s.fold.drains)
	s.step()
	if got := s.fold.drains[n:]; len(got) != 1 || !got[0] {
		t.Errorf("drains %v of a partition that stops, want everything at once", got)
	}
}

func TestFanoutWaitsNoLongerThanItsDelay(t *testing.T) {
	s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.BatchRecords, c.CutEvery = 256, time.Hour })
	s.add(events.Messages, 256*20)
	for range 6 {
		s.w.safeStep()
		s.ack()
	}
	if len(s.fold.drains) == 0 || s.fold.drains[len(s.fold.drains)-1] {
		t.Fatalf("drains %v, want one without fan-out under load", s.fold.drains)
	}
	s.pass(s.w.cfg.FanoutDelay)
	for range 3 {
		s.w.safeStep()
		s.ack()
	}
	found := false
	for _, full := range s.fold.drains {
		found = found || full
	}
	if !found {
		t.Errorf("drains %v, want the fan-out after its delay although there is more", s.fold.drains)
	}
}
