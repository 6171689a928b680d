package processor

import (
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// newStandby is a stage whose worker is a standby at from that may fold up to until.
func newStandby(t *testing.T, from, until projections.Position) *stage {
	t.Helper()
	s := newStage(t, opening{from: from, until: until, published: true}, nil)
	s.w.live.Store(nil)
	s.w.standing = true
	s.w.setState(StateStandby)
	s.w.start(s.now, opening{from: from, until: until, published: true}, until)
	return s
}

// TestStandbyFoldsNoFurtherThanTheGroup: and publishes and commits nothing, but stores.
func TestStandbyFoldsNoFurtherThanTheGroup(t *testing.T) {
	s := newStandby(t, projections.Position{}, projections.Position{2, 1, 0})
	s.add(events.Messages, 10)
	s.add(events.Reads, 10)
	s.add(events.Deliveries, 10)
	s.step()
	if want := (projections.Position{2, 1, 0}); s.fold.position != want {
		t.Errorf("folded up to %v, the group has committed %v", s.fold.position, want)
	}
	s.w.inbox.allow(projections.Position{4, 0, 5}) // behind in one input: not what one owner has published
	s.step()
	if want := (projections.Position{2, 1, 0}); s.fold.position != want {
		t.Errorf("folded up to %v after offsets that went back", s.fold.position)
	}
	s.w.inbox.allow(projections.Position{4, 4, 5})
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
	if len(s.sent) != 0 || len(s.acked) != 0 || s.w.live.Load() != nil || s.w.State() != StateStandby {
		t.Errorf("a standby published %d sets, committed %v and is %v", len(s.sent), s.acked, s.w.State())
	}
	s.w.inbox.stop(stopClean)
	if !s.step() {
		t.Error("a standby with nothing left to do does not end")
	}
}

// TestPromotedStandbyPublishesFromTheCommittedOffsets: what lies between the standby and the group's offsets is folded
// in silence, what comes after it is published, though it was fetched as a standby.
func TestPromotedStandbyPublishesFromTheCommittedOffsets(t *testing.T) {
	s := newStandby(t, projections.Position{}, projections.Position{0, 2, 0})
	s.add(events.Reads, 10)
	s.step()
	committed := projections.Position{0, 6, 0}
	s.w.inbox.promote(order{plan: opening{from: projections.Position{0, 2, 0}, until: committed, published: true}, ends: projections.Position{0, 10, 0}})
	s.step()
	if s.w.State() != StateLive || s.fold.position != (projections.Position{0, 10, 0}) {
		t.Fatalf("it is %v at %v", s.w.State(), s.fold.position)
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

// TestPromotedStandbyBesideTheCommittedOffsets: neither its position nor the group's is before the other. What lies
// between is published, what it holds is not, and it is live when it has folded both.
func TestPromotedStandbyBesideTheCommittedOffsets(t *testing.T) {
	s := newStandby(t, projections.Position{5, 0, 0}, projections.Position{5, 2, 0})
	s.add(events.Reads, 4)
	s.step()
	s.w.inbox.promote(order{plan: opening{from: projections.Position{5, 2, 0}, until: projections.Position{5, 6, 0}}, ends: projections.Position{5, 6, 0}})
	s.step()
	s.step()
	if s.w.State() != StateOpening || s.fold.position != (projections.Position{5, 4, 0}) {
		t.Fatalf("it is %v at %v, before what the group has committed", s.w.State(), s.fold.position)
	}
	s.ack()
	s.add(events.Reads, 2)
	s.pass(10 * fanoutRest)
	s.step()
	if s.w.State() != StateLive {
		t.Errorf("it is %v at %v", s.w.State(), s.fold.position)
	}
	n := 0
	for _, set := range s.sent {
		n += len(set)
	}
	if n != 4 {
		t.Errorf("%d changes were published, want those of the last 4 records", n)
	}
}

// TestPromotedStandbyAtTheCommittedOffsets is live without a record to come.
func TestPromotedStandbyAtTheCommittedOffsets(t *testing.T) {
	at := projections.Position{0, 2, 0}
	s := newStandby(t, projections.Position{}, at)
	s.add(events.Reads, 2)
	s.step()
	s.w.inbox.promote(order{plan: opening{from: at, until: at}, ends: at})
	s.step()
	if s.w.State() != StateLive || len(s.sent) != 0 {
		t.Errorf("it is %v and has published %d sets", s.w.State(), len(s.sent))
	}
	s.add(events.Reads, 1)
	s.step()
	if len(s.sent) != 1 || len(s.sent[0]) != 1 {
		t.Errorf("published %v, want what the new record changed", s.sent)
	}
}

// TestPromotedStandbyIsFetchedTwice: the group's client begins where the standby's was asked to go on, and what the
// latter had under way comes as well. Each record is folded once, and none is counted as waiting in memory for ever.
func TestPromotedStandbyIsFetchedTwice(t *testing.T) {
	s := newStandby(t, projections.Position{}, projections.Position{})
	var all []*kgo.Record
	for range 6 {
		all = append(all, s.record(events.Reads, eventValue(t, events.Reads)))
	}
	s.w.inbox.promote(order{ends: projections.Position{0, 6, 0}})
	s.w.inbox.fetch(events.Reads, all[:4], 6)
	s.w.inbox.fetch(events.Reads, all[2:], 6)
	s.w.inbox.fetch(events.Reads, all[:3], 6)
	s.step()
	if n := len(s.fold.folded); n != 6 {
		t.Errorf("%d of 6 records are folded: %v", n, s.fold.folded)
	}
	if n := s.w.inbox.queued(); n != 0 {
		t.Errorf("%d bytes are held for records that were left out", n)
	}
}

func TestPlanStandby(t *testing.T) {
	at := projections.Position{5, 5, 5}
	for _, c := range []struct {
		committed, until projections.Position
		ok               bool
	}{
		{projections.Position{none, none, none}, projections.Position{}, false},
		{projections.Position{7, 5, 9}, projections.Position{7, 5, 9}, true},
		{projections.Position{3, 3, 3}, at, true}, // the owner that this store is of had not committed all of it
		{projections.Position{9, 9, 4}, at, true},
	} {
		plan, ok := planStandby(opening{}, at, history{committed: c.committed})
		if ok != c.ok || ok && (plan.from != at || plan.until != c.until || !plan.published) {
			t.Errorf("committed %v: %+v, %v", c.committed, plan, ok)
		}
	}
}
