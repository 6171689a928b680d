package pending

import (
	"math"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/held"
)

// TestOpenReadsReachTheHead: an open read of the channel with its threads, up to a time, reads a
// thread up to the head, unless a mark in the thread came after it.
func TestOpenReadsReachTheHead(t *testing.T) {
	w := newWorld()
	for i := range 4 {
		w.post(false, int64(i+1))
	}
	open := []held.Event{
		{By: held.ByTime, Use: held.ForThreads, Offset: 1},
		{By: held.ByTime, Use: held.ForOthers | held.ForFar, Offset: 2}, // the channel alone
		{By: held.ByID, Use: held.ForThreads, Offset: 3},                // its message does not exist
		{By: held.ByTime, Use: held.ForThreads, Offset: 7},
	}
	for _, c := range []struct {
		name         string
		from, before int64
		open         []held.Event
		to           uint32
		offset       int64
		rest         int
	}{
		{"all", 0, math.MaxInt64, open, 4, 1, 0},
		{"those before a mark", 0, 7, open, 4, 1, 1},
		{"those after one", 2, math.MaxInt64, open, 4, 7, 0},
		{"none in time", 2, 7, open, 0, 0, 1},
		{"of the channel alone", 0, math.MaxInt64, open[1:3], 0, 0, 0},
	} {
		got := held.WithThreads{From: c.from}
		rest := w.readOpen(&got, w.channel(), c.open, c.before)
		if got.To != c.to || got.Offset != c.offset || len(rest) != c.rest {
			t.Errorf("%s: %+v and %d left, want to %d by %d and %d left", c.name, got, len(rest), c.to, c.offset, c.rest)
		}
	}
}

// TestAMarkForgetsReadsWithThreads: a mark in a thread cancels the reads with threads before it.
func TestAMarkForgetsReadsWithThreads(t *testing.T) {
	b := base{threads: held.WithThreads{To: 9, Offset: 3, Public: 9}}
	b.forgetThreads(&held.Event{Offset: 5})
	if b.threads != (held.WithThreads{From: 5, Dirty: true}) {
		t.Errorf("%+v", b.threads)
	}
}

// TestAThreadLooksAtItsChannel: an open read of the channel with its threads is open in a thread
// too. A closed one reads the thread, until the thread has marks of its own.
func TestAThreadLooksAtItsChannel(t *testing.T) {
	w := newWorld()
	for i := range 3 {
		w.post(false, int64(i+1))
	}
	x := w.extra()
	x.WithThreads = &held.WithThreads{To: 2, Offset: 4}
	x.OpenReads = []held.Event{{By: held.ByTime, Use: held.ForThreads, Offset: 6}}
	if w.openWithThreads(w.row()) != nil {
		t.Error("the channel itself has reads with threads open")
	}
	ti := w.EnsureThread(w.ci, w.channel(), []byte("m1"))
	_, r := w.EnsureThreadRow(ti, w.ref)
	if got := w.WithThreadsOf(w.channel(), r); got.To != 3 || got.Offset != 6 {
		t.Errorf("the thread is read to %+v", got)
	}
	if !w.awaitsThreads(r, 0, 7) || w.awaitsThreads(r, 0, 6) || w.awaitsThreads(r, 7, 9) {
		t.Error("a mark waits for the wrong reads")
	}
	x = w.ExtraOfPair(w.row())
	if x.OpenReads = nil; w.WithThreadsOf(w.channel(), r).To != 2 {
		t.Errorf("without open reads it is read to %+v", w.WithThreadsOf(w.channel(), r))
	}
	if w.RareOf(r).Marks = 1; w.WithThreadsOf(w.channel(), r).To != 0 {
		t.Errorf("with a mark of its own it is read to %+v", w.WithThreadsOf(w.channel(), r))
	}
}
