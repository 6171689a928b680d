package pending

import (
	"testing"

	"github.com/tidemark/tidemark/projections/internal/held"
)

// TestEvaluateOpenEvents: a read up to a time is at the head for now. A read that waits for its
// message moves nothing yet. Evaluating stores neither.
func TestEvaluateOpenEvents(t *testing.T) {
	w := newWorld()
	for i := range 3 {
		w.post(false, int64(i+1))
	}
	late := event(held.KindRead, 1, 10)
	late.By, late.ID = held.ByID, []byte("m9")
	w.hold(late)
	if ptr, _, _, _, _, _ := w.Evaluate(w.channel(), w.row(), w.extra()); ptr != 0 {
		t.Errorf("a message that is not there was read: %d", ptr)
	}
	timed := event(held.KindRead, 2, 10)
	timed.By, timed.Time = held.ByTime, 100
	w.hold(timed)
	for head := uint32(3); head < 5; head++ {
		ptr, _, at, ev, _, _ := w.Evaluate(w.channel(), w.row(), w.extra())
		if ptr != head || at != 10 || ev != EvRead(2) {
			t.Errorf("the pointer is at %d, %d by %d; want %d", ptr, at, ev, head)
		}
		w.post(false, 50)
	}
	w.pointer(t, 0)
}

// TestEvaluateAMarkInOrder: a mark takes back what was read before it, and not what was read after
// it.
func TestEvaluateAMarkInOrder(t *testing.T) {
	w := newWorld()
	for i := range 5 {
		w.post(false, int64(i+1))
	}
	first := event(held.KindRead, 1, 10)
	first.By, first.Time = held.ByTime, 100
	mark := event(held.KindMark, 2, 11)
	mark.By, mark.ID, mark.HeadBy, mark.Time = held.ByID, []byte("m2"), held.BySeq, 5
	w.hold(first)
	w.hold(mark)
	if ptr, floor, _, _, _, _ := w.Evaluate(w.channel(), w.row(), w.extra()); ptr != 1 || floor != 5 {
		t.Errorf("after the mark: pointer %d, floor %d", ptr, floor)
	}
	single := event(held.KindSingle, 3, 12)
	single.By, single.ID = held.ByID, []byte("m4")
	w.hold(single)
	ptr, _, _, _, _, singles := w.Evaluate(w.channel(), w.row(), w.extra())
	if ptr != 1 || singles.Count() != 1 || !singles.Contains(4) {
		t.Errorf("after a single read: pointer %d, %d singles", ptr, singles.Count())
	}
	if !w.extra().Singles.Empty() {
		t.Error("an evaluation wrote to the pair")
	}
	again := event(held.KindRead, 4, 13)
	again.By, again.Seq = held.BySeq, 3
	w.hold(again)
	if ptr, _, _, ev, _, _ := w.Evaluate(w.channel(), w.row(), w.extra()); ptr != 3 || ev != EvRead(4) {
		t.Errorf("after another read: pointer %d by %d", ptr, ev)
	}
}
