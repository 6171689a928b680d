package pending

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// drawn is a post, or an event that may wait.
type drawn struct {
	own     bool
	at      int64
	waiting *held.Event
}

const hour = 3600 * 1000

// drawPosts draws posts, whose times never run backwards here.
func drawPosts(t *rapid.T) (out []drawn) {
	at := int64(1)
	for range rapid.IntRange(0, 12).Draw(t, "posts") {
		at += rapid.SampledFrom([]int64{0, 1, hour, 24 * hour, 8 * 24 * hour}).Draw(t, "step")
		out = append(out, drawn{own: rapid.Bool().Draw(t, "own"), at: at})
	}
	return out
}

func drawPending(t *rapid.T) (out []drawn) {
	at := int64(1)
	for i := range rapid.IntRange(1, 7).Draw(t, "events") {
		at += rapid.SampledFrom([]int64{0, 1, hour, 24 * hour, 8 * 24 * hour}).Draw(t, "event step")
		h := event(rapid.SampledFrom([]uint8{held.KindRead, held.KindRead, held.KindSingle, held.KindMark}).Draw(t, "kind"), int64(i), at)
		id := func(label string) []byte { return fmt.Appendf(nil, "m%d", rapid.IntRange(1, 13).Draw(t, label)) }
		when := func(label string) int64 {
			return max(1, at+rapid.SampledFrom([]int64{-24 * hour, -1, 0, 1, hour, 24 * hour}).Draw(t, label))
		}
		h.By, h.ID = held.ByID, id("id")
		if h.Kind == held.KindRead {
			switch rapid.IntRange(0, 2).Draw(t, "target") {
			case 1:
				h.By, h.ID, h.Seq = held.BySeq, nil, uint32(rapid.IntRange(1, 13).Draw(t, "seq"))
			case 2:
				h.By, h.ID, h.Time = held.ByTime, nil, when("time")
			}
		}
		if h.Kind == held.KindMark {
			switch rapid.IntRange(0, 2).Draw(t, "head") {
			case 0:
				h.HeadBy = held.ByTime
			case 1:
				h.HeadBy, h.Time = held.BySeq, int64(rapid.IntRange(1, 13).Draw(t, "head seq"))
			case 2:
				h.HeadBy, h.HeadID = held.ByID, id("head id")
			}
		}
		out = append(out, drawn{waiting: &h})
	}
	return out
}

// drawForgetful draws events of a chat.reads that may be so far ahead that they remember no message,
// if the log ends after an hour and a week.
func drawForgetful(t *rapid.T) (out []drawn) {
	now := int64(1)
	for i := range rapid.IntRange(1, 7).Draw(t, "events") {
		now += rapid.SampledFrom([]int64{0, 1, hour, 8 * 24 * hour, 20 * 24 * hour}).Draw(t, "event step")
		h := event(rapid.SampledFrom([]uint8{held.KindRead, held.KindMark, held.KindMark}).Draw(t, "kind"), int64(i), now)
		h.By, h.Seq = held.BySeq, uint32(rapid.IntRange(1, 13).Draw(t, "seq"))
		old := max(1, now-rapid.SampledFrom([]int64{0, 1, 8 * 24 * hour, 20 * 24 * hour, 60 * 24 * hour}).Draw(t, "old"))
		switch {
		case h.Kind == held.KindMark:
			h.HeadBy, h.At = held.ByTime, old
		case rapid.Bool().Draw(t, "by time"):
			h.By, h.Seq, h.Time = held.ByTime, 0, old
		}
		out = append(out, drawn{waiting: &h})
	}
	return out
}

// describe folds posts and events in an order. It returns the pair's row and waiting events,
// without cached fields.
func describe(list []drawn, change ...func(*identity.Settings)) (string, *world) {
	w := newWorld(change...)
	for _, d := range list {
		if d.waiting != nil {
			w.hold(*d.waiting)
			continue
		}
		w.post(d.own, d.at)
		w.Settle(w.ref)
	}
	r, x := w.row(), w.extra()
	out := fmt.Sprintf("pointer %d at %d by %d, own floor %d, last own %d, singles %v, floors %v", r.Pointer, r.At(), r.Event(), w.RareOf(r).OwnFloor,
		r.LastOwn, x.Singles.Newest(nil, 0, 99), x.Floors)
	for _, h := range x.Unsettled {
		h.Sought, h.SoughtHead = held.Sought{}, held.Sought{}
		out += fmt.Sprintf("\n%+v", h)
	}
	return out, w
}

// TestNormalForm: the held events are a function of the timeline and of the user's events, not of
// their order of arrival. Settling them again changes nothing, and neither does an evaluation.
func TestNormalForm(t *testing.T) { checkNormalForm(t, drawPending) }

// TestNormalFormIfTheLogEnds: a mark without a head waits while a later post can take its head back
// to the end of a block.
func TestNormalFormIfTheLogEnds(t *testing.T) {
	checkNormalForm(t, drawForgetful, func(s *identity.Settings) { s.TrimLog, s.IndexRetention = true, hour })
}

func checkNormalForm(t *testing.T, events func(*rapid.T) []drawn, change ...func(*identity.Settings)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		posts, waiting := drawPosts(t), events(t)
		mixed := []drawn{}
		for i, j := 0, 0; i < len(posts) || j < len(waiting); {
			if j == len(waiting) || (i < len(posts) && rapid.Bool().Draw(t, "a post")) {
				mixed = append(mixed, posts[i])
				i++
			} else {
				mixed = append(mixed, waiting[j])
				j++
			}
		}
		want, w := describe(append(append([]drawn{}, posts...), waiting...), change...)
		for name, order := range map[string][]drawn{"events first": append(append([]drawn{}, waiting...), posts...), "mixed": mixed} {
			if got, _ := describe(order, change...); got != want {
				t.Fatalf("%s:\n%s\nposts first:\n%s", name, got, want)
			}
		}
		if w.Settle(w.ref) {
			t.Fatalf("settling twice changed it:\n%s", want)
		}
		row, x := *w.row(), w.extra()
		before := append([]held.Event{}, x.Unsettled...)
		w.Evaluate(w.channel(), w.row(), x)
		if *w.row() != row || len(before) > 0 && !reflect.DeepEqual(before, x.Unsettled) {
			t.Fatalf("an evaluation changed it:\n%+v\n%+v", row, *w.row())
		}
	})
}

// TestAReadWaitsForItsMessage: the pointer moves as soon as the message that a read names exists.
func TestAReadWaitsForItsMessage(t *testing.T) {
	w := newWorld()
	w.post(false, 1)
	h := event(held.KindRead, 5, 2)
	h.By, h.ID = held.ByID, []byte("m3")
	w.hold(h)
	w.pointer(t, 0)
	w.post(false, 3)
	if w.Settle(w.ref) {
		t.Error("another message changed what waits")
	}
	w.post(false, 4)
	if !w.Settle(w.ref) || len(w.extra().Unsettled) != 0 || w.row().Event() != EvRead(5) || w.row().At() != 2 {
		t.Errorf("held %v, row %+v", w.extra().Unsettled, w.row())
	}
	w.pointer(t, 3)
}

// TestOfReadsToOneMessageTheFirstCounts: the first read counts even if it is applied last.
func TestOfReadsToOneMessageTheFirstCounts(t *testing.T) {
	b := base{}
	if !b.read(5, 20, 2) || !b.read(5, 10, 1) || b.at != 10 || b.ev != EvRead(1) {
		t.Errorf("%+v", b)
	}
	if b.read(5, 30, 3) || b.read(4, 5, 0) || b.at != 10 {
		t.Errorf("a later read, or one that is not as far, moved it: %+v", b)
	}
	b.ev = evMessage(7)
	if b.read(5, 1, 0) {
		t.Error("a read took the pointer from an own post at the same message")
	}
}

// TestAMarkTakesThePointerBack: a mark moves the pointer to before its message, and removes the
// single reads from there on.
func TestAMarkTakesThePointerBack(t *testing.T) {
	w := newWorld()
	for i := range 6 {
		w.post(false, int64(i+1))
	}
	read := event(held.KindRead, 1, 10)
	read.By, read.Seq = held.BySeq, 4
	single := event(held.KindSingle, 2, 11)
	single.By, single.ID = held.ByID, []byte("m6")
	mark := event(held.KindMark, 3, 12)
	mark.By, mark.ID, mark.HeadBy = held.ByID, []byte("m2"), held.ByTime
	w.hold(read)
	w.hold(single)
	w.pointer(t, 4)
	if !w.extra().Singles.Contains(6) {
		t.Error("m6 is not read")
	}
	w.hold(mark)
	w.pointer(t, 1)
	if !w.extra().Singles.Empty() {
		t.Error("m6 is still read")
	}
	if f := w.extra().Floors; len(f) != 1 || f[0] != (held.Floor{By: held.ByTime, Val: 12, Horizon: 12 + LapseAfter}) {
		t.Errorf("the head of the mark is open, and its floors are %v", f)
	}
}

// TestMergeSegments: between held marks remain the furthest closed read, each single read above it
// once, and all open events.
func TestMergeSegments(t *testing.T) {
	closed := func(kind uint8, offset int64, seq uint32) held.Event {
		return held.Event{Kind: kind, Offset: offset, Seq: seq, Closed: true}
	}
	x := &state.PairExtra{Unsettled: []held.Event{
		closed(held.KindRead, 1, 9), // before the first mark: not merged
		{Kind: held.KindMark, Offset: 2},
		closed(held.KindRead, 3, 5),
		closed(held.KindSingle, 4, 4), // below the furthest read
		closed(held.KindSingle, 5, 8),
		closed(held.KindSingle, 6, 8), // the same once more
		{Kind: held.KindRead, Offset: 7, By: held.ByTime},
		closed(held.KindRead, 8, 6),
		{Kind: held.KindMark, Offset: 9},
		closed(held.KindRead, 10, 2),
		closed(held.KindWithThreads, 11, 3), closed(held.KindWithThreads, 12, 7),
	}}
	if !mergeSegments(x) {
		t.Error("nothing was merged")
	}
	var left []int64
	for _, h := range x.Unsettled {
		left = append(left, h.Offset)
	}
	if want := []int64{1, 2, 5, 7, 8, 9, 10, 12}; !reflect.DeepEqual(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	if mergeSegments(x) {
		t.Error("merging twice changed it")
	}
}
