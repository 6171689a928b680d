package pending

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// TestHeadAt: a head is final once the timeline has passed it, or once it has lapsed. Until then
// the channel's head applies.
func TestHeadAt(t *testing.T) {
	const late = 100 + LapseAfter
	byTime := held.Floor{By: held.ByTime, Val: 50, Horizon: late}
	bySeq := held.Floor{By: held.BySeq, Val: 3, Horizon: late}
	for _, c := range []struct {
		name  string
		posts []int64
		floor held.Floor
		seq   uint32
		final bool
	}{
		{"a time, no message", nil, byTime, 0, false},
		{"a time, messages up to it", []int64{10, 50}, byTime, 2, false},
		{"a time that was passed", []int64{10, 50, 51}, byTime, 2, true},
		{"a time before all messages", []int64{60}, byTime, 0, true},
		{"a seq beyond the head", []int64{10, 20}, bySeq, 2, false},
		{"a seq at the head", []int64{10, 20, 30}, bySeq, 3, true},
		{"a seq below the head", []int64{10, 20, 30, 40}, bySeq, 3, true},
		{"a seq that lapsed", []int64{10, 20, late + 1}, bySeq, 2, true},
		{"a seq whose message came too late", []int64{10, late + 1, late + 2, late + 3}, bySeq, 1, true},
	} {
		w := newWorld()
		for _, at := range c.posts {
			w.post(false, at)
		}
		if seq, final := w.headAt(w.channel(), c.floor); seq != c.seq || final != c.final {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, seq, final, c.seq, c.final)
		}
	}
}

// TestFloorsClose: as long as one floor is open, the base has none. When the last one closes, the
// base gets the highest of those that closed with it.
func TestFloorsClose(t *testing.T) {
	w := newWorld()
	w.post(false, 10)
	x := &state.PairExtra{Floors: []held.Floor{{By: held.BySeq, Val: 2, Horizon: LapseAfter}, {By: held.BySeq, Val: 3, Horizon: LapseAfter}}}
	b := base{}
	if w.settleFloors(w.channel(), &b, x) || b.floorH != 0 || len(x.Floors) != 2 {
		t.Errorf("nothing is decided: floor %d, %v", b.floorH, x.Floors)
	}
	w.post(false, 20)
	if !w.settleFloors(w.channel(), &b, x) || b.floorH != 0 || len(x.Floors) != 1 {
		t.Errorf("one is open: floor %d, %v", b.floorH, x.Floors)
	}
	w.post(false, 30)
	if !w.settleFloors(w.channel(), &b, x) || b.floorH != 3 || len(x.Floors) != 0 {
		t.Errorf("all are closed: floor %d, %v", b.floorH, x.Floors)
	}
	if w.settleFloors(w.channel(), &b, x) {
		t.Error("there was nothing to close")
	}
}

// TestAddFloor: a final head raises the floor, unless another one is still open. An open head is
// kept in its order, and only if no other one reaches as far. An erased user has no floor.
func TestAddFloor(t *testing.T) {
	w := newWorld()
	mark := func(by uint8, val, horizon int64) *held.Event {
		return &held.Event{Kind: held.KindMark, HeadBy: by, Time: val, At: val, Horizon: horizon}
	}
	b, x := base{floorH: 2}, &state.PairExtra{}
	w.addFloor(&b, x, &held.Event{Head: true, HeadSeq: 5})
	w.addFloor(&b, x, &held.Event{Head: true, HeadSeq: 4})
	if b.floorH != 5 || len(x.Floors) != 0 {
		t.Errorf("floor %d, %v", b.floorH, x.Floors)
	}
	for _, m := range []*held.Event{
		mark(held.ByTime, 50, 500), mark(held.BySeq, 7, 500), mark(held.ByTime, 60, 600), mark(held.ByTime, 40, 100), mark(held.ByTime, 10, 900),
	} {
		w.addFloor(&b, x, m)
	}
	want := []held.Floor{{By: held.BySeq, Val: 7, Horizon: 500}, {By: held.ByTime, Val: 10, Horizon: 900}, {By: held.ByTime, Val: 60, Horizon: 600}}
	if b.floorH != 0 || !slices.Equal(x.Floors, want) {
		t.Errorf("floor %d, %v; want %v", b.floorH, x.Floors, want)
	}
	w.addFloor(&b, x, &held.Event{Head: true, HeadSeq: 9})
	if b.floorH != 0 {
		t.Errorf("beside open floors a final head raised it to %d", b.floorH)
	}
	b, x = base{floorH: state.NoOwn}, &state.PairExtra{}
	w.addFloor(&b, x, mark(held.ByTime, 50, 500))
	if b.floorH != state.NoOwn || len(x.Floors) != 0 {
		t.Errorf("of an erased user: floor %d, %v", b.floorH, x.Floors)
	}
}

// TestAMarkWaitsWhileItsHeadMayGoBack: if the log ends, a mark without a head waits while a message
// that it does not remember may be posted, and take its head back to the end of a block.
func TestAMarkWaitsWhileItsHeadMayGoBack(t *testing.T) {
	const day = 24 * hour
	for name, c := range map[string]struct {
		at, log int64 // time of the mark, then log time of chat.messages
		waits   bool
	}{
		"an old mark":                       {10, 2, true},
		"after chat.messages has caught up": {10, 13 * day, false},
		"a mark of now":                     {20 * day, 2, false},
	} {
		w := newWorld(func(s *identity.Settings) { s.TrimLog, s.IndexRetention = true, hour })
		w.post(true, 1)
		mark := event(held.KindMark, 1, 20*day)
		mark.By, mark.Seq, mark.HeadBy, mark.At = held.BySeq, 1, held.ByTime, c.at
		w.hold(mark)
		w.MessageTime = c.log
		w.Settle(w.ref)
		if x := w.extra(); (len(x.Unsettled) == 1) != c.waits || (len(x.Floors) == 0) != c.waits {
			t.Errorf("%s: %d events wait, %d floors are open", name, len(x.Unsettled), len(x.Floors))
		}
		if _, floor, at, _, _, _ := w.Evaluate(w.channel(), w.row(), w.extra()); floor != 1 || at != c.at {
			t.Errorf("%s: floor %d, pointer by a read at %d", name, floor, at)
		}
	}
}
