package steps

import (
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/projections"
)

// newStandby returns a stage whose worker is a standby at from that may fold up to until.
func newStandby(t *testing.T, from, until projections.Position) *stage {
	t.Helper()
	s := readyStage(t, from, nil)
	s.w.standby = true
	s.w.start(s.now, opening.Plan{From: from, Until: until, Published: true}, until)
	return s
}

// TestStandbyFoldsNoFurtherThanTheGroup: a standby folds up to the committed offsets. It stores,
// and neither publishes nor commits.
func TestStandbyFoldsNoFurtherThanTheGroup(t *testing.T) {
	s := newStandby(t, projections.Position{}, projections.Position{2, 1, 0})
	s.add(events.Messages, 10)
	s.add(events.Reads, 10)
	s.add(events.Deliveries, 10)
	s.step()
	if want := (projections.Position{2, 1, 0}); s.fold.position != want {
		t.Errorf("folded up to %v, the group has committed %v", s.fold.position, want)
	}
	s.w.Inbox.Allow(projections.Position{4, 0, 5}) // one input goes back: no single owner has published this
	s.step()
	if want := (projections.Position{2, 1, 0}); s.fold.position != want {
		t.Errorf("folded up to %v after offsets that went back", s.fold.position)
	}
	s.w.Inbox.Allow(projections.Position{4, 4, 5})
	s.pass(2 * time.Second)
	s.step()
	if want := (projections.Position{4, 4, 5}); s.fold.position != want {
		t.Errorf("folded up to %v, the group has committed %v", s.fold.position, want)
	}
	s.write()
	s.step()
	if s.fold.stored != s.fold.position {
		t.Errorf("stored %v, folded %v", s.fold.stored, s.fold.position)
	}
	if len(s.sent) != 0 || len(s.acked) != 0 || s.w.Live.Load() != nil || s.w.Life.State() != life.Standby {
		t.Errorf("a standby published %d sets, committed %v and is %v", len(s.sent), s.acked, s.w.Life.State())
	}
	s.w.Inbox.Stop(inbox.StopClean)
	if !s.step() {
		t.Error("a standby with nothing left to do does not end")
	}
}

// TestPromotedStandbyPublishesFromTheCommittedOffsets: records between the standby and the group's
// offsets are replayed, and later ones are published, although they were fetched as a standby.
func TestPromotedStandbyPublishesFromTheCommittedOffsets(t *testing.T) {
	s := newStandby(t, projections.Position{}, projections.Position{0, 2, 0})
	s.add(events.Reads, 10)
	s.step()
	committed := projections.Position{0, 6, 0}
	s.w.Inbox.Promote(opening.Order{Plan: opening.Plan{From: projections.Position{0, 2, 0}, Until: committed, Published: true}, Ends: projections.Position{0, 10, 0}})
	s.step()
	if s.w.Life.State() != life.Live || s.fold.position != (projections.Position{0, 10, 0}) {
		t.Fatalf("it is %v at %v", s.w.Life.State(), s.fold.position)
	}
	if len(s.sent) != 1 || len(s.sent[0]) != 4 {
		t.Fatalf("published %d sets, want one with what the last 4 records changed", len(s.sent))
	}
	s.ack()
	s.step()
	if want := []projections.Position{{0, 10, 0}}; !reflect.DeepEqual(s.acked, want) {
		t.Errorf("committed %v, want %v", s.acked, want)
	}
}

// TestPromotedStandbyBesideTheCommittedOffsets: neither the standby's position nor the group's
// dominates the other. The partition publishes the changes in between but not those of its store,
// and is live when it has folded up to both.
func TestPromotedStandbyBesideTheCommittedOffsets(t *testing.T) {
	s := newStandby(t, projections.Position{5, 0, 0}, projections.Position{5, 2, 0})
	s.add(events.Reads, 4)
	s.step()
	s.w.Inbox.Promote(opening.Order{Plan: opening.Plan{From: projections.Position{5, 2, 0}, Until: projections.Position{5, 6, 0}}, Ends: projections.Position{5, 6, 0}})
	s.step()
	s.step()
	if s.w.Life.State() != life.CatchingUp || s.fold.position != (projections.Position{5, 4, 0}) {
		t.Fatalf("it is %v at %v, before what the group has committed", s.w.Life.State(), s.fold.position)
	}
	s.ack()
	s.add(events.Reads, 2)
	s.pass(10 * fanoutRest)
	s.step()
	if s.w.Life.State() != life.Live {
		t.Errorf("it is %v at %v", s.w.Life.State(), s.fold.position)
	}
	n := 0
	for _, set := range s.sent {
		n += len(set)
	}
	if n != 4 {
		t.Errorf("%d changes were published, want those of the last 4 records", n)
	}
}

// TestPromotedStandbyAtTheCommittedOffsets: a standby at the committed offsets becomes live without
// another record.
func TestPromotedStandbyAtTheCommittedOffsets(t *testing.T) {
	at := projections.Position{0, 2, 0}
	s := newStandby(t, projections.Position{}, at)
	s.add(events.Reads, 2)
	s.step()
	s.w.Inbox.Promote(opening.Order{Plan: opening.Plan{From: at, Until: at}, Ends: at})
	s.step()
	if s.w.Life.State() != life.Live || len(s.sent) != 0 {
		t.Errorf("it is %v and has published %d sets", s.w.Life.State(), len(s.sent))
	}
	s.add(events.Reads, 1)
	s.step()
	if len(s.sent) != 1 || len(s.sent[0]) != 1 {
		t.Errorf("published %v, want what the new record changed", s.sent)
	}
}

// TestPromotedStandbyIsFetchedTwice: the group's client begins at the offset that the standby's
// client would fetch next, and records that the latter is still fetching arrive as well. Each
// record is folded once, and none remains counted as waiting in memory.
func TestPromotedStandbyIsFetchedTwice(t *testing.T) {
	s := newStandby(t, projections.Position{}, projections.Position{})
	var all []*kgo.Record
	for range 6 {
		all = append(all, s.record(events.Reads, eventValue(t, events.Reads)))
	}
	s.w.Inbox.Promote(opening.Order{Ends: projections.Position{0, 6, 0}})
	s.w.Inbox.Fetch(events.Reads, all[:4], 6)
	s.w.Inbox.Fetch(events.Reads, all[2:], 6)
	s.w.Inbox.Fetch(events.Reads, all[:3], 6)
	s.step()
	if n := len(s.fold.folded); n != 6 {
		t.Errorf("%d of 6 records are folded: %v", n, s.fold.folded)
	}
	if n := s.w.Inbox.Queued(); n != 0 {
		t.Errorf("%d bytes are held for records that were left out", n)
	}
}

func TestPlanStandby(t *testing.T) {
	at := projections.Position{5, 5, 5}
	for _, c := range []struct {
		committed, until projections.Position
		ok               bool
	}{
		{projections.Position{outputs.None, outputs.None, outputs.None}, projections.Position{}, false},
		{projections.Position{7, 5, 9}, projections.Position{7, 5, 9}, true},
		{projections.Position{3, 3, 3}, at, true}, // the owner that wrote this store had not committed all of it
		{projections.Position{9, 9, 4}, at, true},
	} {
		plan, ok := opening.DecideStandby(opening.Plan{}, at, opening.History{Committed: c.committed})
		if ok != c.ok || ok && (plan.From != at || plan.Until != c.until || !plan.Published) {
			t.Errorf("committed %v: %+v, %v", c.committed, plan, ok)
		}
	}
}
