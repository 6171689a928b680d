package pending

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/identity"
)

// TestOwnPosts: own posts are found along the log, newest first, and returned in ascending order.
func TestOwnPosts(t *testing.T) {
	w := newWorld()
	for i, own := range []bool{true, false, true, true, false, true} {
		w.post(own, int64(i+1))
	}
	for low, want := range map[uint32][]uint32{0: {1, 3, 4, 6}, 1: {3, 4, 6}, 3: {4, 6}, 5: {6}, 6: nil} {
		if got := w.OwnSince(w.channel(), w.row(), low); !slices.Equal(got, want) {
			t.Errorf("above %d: %v, want %v", low, got, want)
		}
	}
	if own, kept := w.KeptOwn(w.row(), 0); kept {
		t.Errorf("nobody kept %v", own)
	}
	x := w.extra()
	x.Own, x.OwnFrom, x.OwnKept = []uint32{3, 4, 6}, 2, true
	for low, want := range map[uint32][]uint32{2: {3, 4, 6}, 4: {6}, 9: {}} {
		if got, kept := w.KeptOwn(w.row(), low); !kept || !slices.Equal(got, want) {
			t.Errorf("kept above %d: %v, %v; want %v", low, got, kept, want)
		}
	}
	if _, kept := w.KeptOwn(w.row(), 1); kept {
		t.Error("what is kept is said to reach further than it does")
	}
}

// TestOwnIn: the result is the newest own post in a range, with its time and record, and none if
// sending does not read.
func TestOwnIn(t *testing.T) {
	for _, reads := range []bool{true, false} {
		w := newWorld(func(s *identity.Settings) { s.SendMarksRead = reads })
		for i, own := range []bool{true, false, true, false} {
			w.post(own, int64(i+1))
		}
		for _, c := range []struct{ low, high, want uint32 }{{0, 4, 3}, {0, 3, 3}, {0, 2, 1}, {1, 2, 0}, {3, 4, 0}} {
			if !reads {
				c.want = 0
			}
			seq, at, ev := w.ownIn(w.channel(), w.row(), c.low, c.high)
			if seq != c.want || seq != 0 && (at != int64(seq) || ev != evMessage(int64(seq)*10)) {
				t.Errorf("reads %v, in (%d, %d]: %d at %d by %d, want %d", reads, c.low, c.high, seq, at, ev, c.want)
			}
		}
	}
}

// TestOwnPostsAreKeptForMarks: if several events are held, the log is read once for own posts, from
// the lowest head of the marks on.
func TestOwnPostsAreKeptForMarks(t *testing.T) {
	w := newWorld()
	for i := range 6 {
		w.post(i%2 == 0, int64(i+1)) // 1, 3 and 5 are own
	}
	x := w.extra()
	x.Unsettled = []held.Event{{Kind: held.KindMark, Head: true, HeadSeq: 2}}
	if w.keepPendingOwn(w.channel(), w.row(), x); x.OwnKept {
		t.Error("one event needs nothing kept")
	}
	x.Unsettled = append(x.Unsettled, held.Event{Kind: held.KindRead})
	if w.keepPendingOwn(w.channel(), w.row(), x); !x.OwnKept || x.OwnFrom != 2 || !slices.Equal(x.Own, []uint32{3, 5}) {
		t.Errorf("kept %v from %d: %v", x.OwnKept, x.OwnFrom, x.Own)
	}
}
