package pending

import (
	"testing"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/identity"
)

// TestLapse: a waiting event applies to messages up to 7 days of log time after it, and lapses
// then.
func TestLapse(t *testing.T) {
	for target, name := range map[string]func(h *held.Event){
		"id":  func(h *held.Event) { h.By, h.ID = held.ByID, []byte("m2") },
		"seq": func(h *held.Event) { h.By, h.Seq = held.BySeq, 2 },
	} {
		for at, alive := range map[int64]bool{100: true, 100 + LapseAfter: true, 101 + LapseAfter: false} {
			w := newWorld()
			w.post(false, 1)
			h := event(held.KindRead, 1, 100)
			name(&h)
			if !w.Resolve(w.channel(), w.row(), &h) || h.Closed {
				t.Fatalf("%s: on arrival: %+v", target, h)
			}
			w.post(false, at)
			if got := w.Resolve(w.channel(), w.row(), &h); got != alive || h.Closed != alive || alive && h.Seq != 2 {
				t.Errorf("%s, message at %d: alive %v, %+v", target, at, got, h)
			}
		}
	}
}

// TestATimeTargetCloses: a time target closes at the first message after its time. It then reads up
// to the last message that it reaches.
func TestATimeTargetCloses(t *testing.T) {
	w := newWorld()
	h := event(held.KindRead, 1, 100)
	h.By, h.Time = held.ByTime, 50
	for _, at := range []int64{40, 50} {
		w.post(false, at)
		if !w.Resolve(w.channel(), w.row(), &h) || h.Closed {
			t.Fatalf("a message at %d closed it: %+v", at, h)
		}
	}
	w.post(false, 51)
	if !w.Resolve(w.channel(), w.row(), &h) || !h.Closed || h.Seq != 2 {
		t.Errorf("%+v", h)
	}
}

// TestExpiredID: an event's id names a message that has left the index by the event's own time. The
// event counts as expired, and waits for another message with the id only up to its own time.
func TestExpiredID(t *testing.T) {
	w := newWorld(func(s *identity.Settings) { s.IndexRetention = 1000 })
	w.post(false, 1)
	h := event(held.KindRead, 1, 2000)
	h.By, h.ID = held.ByID, []byte("m1")
	w.post(false, 1500)
	if !w.Resolve(w.channel(), w.row(), &h) || h.Closed || !h.ExpiredID() {
		t.Errorf("%+v", h)
	}
	w.post(false, 2001) // past the event's own time, but far from its horizon
	if w.Resolve(w.channel(), w.row(), &h) {
		t.Errorf("it still waits: %+v", h)
	}
	fresh := event(held.KindRead, 2, 1000)
	fresh.By, fresh.ID = held.ByID, []byte("m1")
	if !w.Resolve(w.channel(), w.row(), &fresh) || !fresh.Closed || fresh.Seq != 1 {
		t.Errorf("an event from before it expired: %+v", fresh)
	}
}

// TestResolveHeldWatchesTheClock: an expired event is resolved again as soon as the log time is
// past the event's own.
func TestResolveHeldWatchesTheClock(t *testing.T) {
	w := newWorld(func(s *identity.Settings) { s.IndexRetention = 1000 })
	w.post(false, 1)
	h := event(held.KindRead, 1, 5000)
	h.By, h.ID = held.ByID, []byte("m1")
	if !w.ResolvePending(w.ref, w.channel(), w.row(), &h) || len(w.Lapses) != 1 || w.Lapses[0] != (arena.HeapEntry{Key: 5000, Ref: w.ref}) {
		t.Errorf("%+v, lapses %v", h, w.Lapses)
	}
	if w.ResolvePending(w.ref, w.channel(), w.row(), &h); len(w.Lapses) != 1 {
		t.Errorf("once more: lapses %v", w.Lapses)
	}
}

// TestNamedBySeq: a seq names a message only if the message's id can no longer be known.
func TestNamedBySeq(t *testing.T) {
	w := newWorld(func(s *identity.Settings) { s.IndexRetention = 1000 })
	w.post(false, 1)
	w.post(false, 500)
	for _, c := range []struct {
		seq  uint32
		now  int64
		want bool
	}{{0, 1 << 40, false}, {3, 1 << 40, false}, {1, 1001, false}, {1, 1002, true}, {2, 1002, false}, {2, 1501, true}} {
		if got := w.NamedBySeq(w.channel(), c.seq, c.now); got != c.want {
			t.Errorf("seq %d at %d: %v", c.seq, c.now, got)
		}
	}
}

// TestAProvisionalMark: a mark names a message by id and by seq. It uses the message of the seq
// until the id appears, and for good once the id can no longer appear.
func TestAProvisionalMark(t *testing.T) {
	w := newWorld(func(s *identity.Settings) { s.IndexRetention = 1000 })
	w.post(false, 1)
	h := event(held.KindMark, 1, 5000)
	h.By, h.ID, h.Seq, h.HeadBy = held.ByID, []byte("gone"), 1, held.ByTime
	if !w.Resolve(w.channel(), w.row(), &h) || h.Closed || !w.provisional(w.channel(), &h) {
		t.Errorf("%+v", h)
	}
	w.post(false, 5001+LapseAfter)
	if !w.Resolve(w.channel(), w.row(), &h) || !h.Closed || h.By != held.BySeq || h.Seq != 1 {
		t.Errorf("after 7 days: %+v", h)
	}
}
