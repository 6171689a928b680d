package merge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// at returns records of consecutive offsets with these timestamps.
func at(offset int64, millis ...int64) []*kgo.Record {
	var rs []*kgo.Record
	for i, ms := range millis {
		rs = append(rs, &kgo.Record{Offset: offset + int64(i), Timestamp: time.UnixMilli(ms)})
	}
	return rs
}

func inOrder(items []Item) string {
	var parts []string
	for _, it := range items {
		parts = append(parts, fmt.Sprintf("%c%d", "mrd"[it.In], it.Rec.Offset))
	}
	return strings.Join(parts, " ")
}

var t0 = time.UnixMilli(1_700_000_000_000)

func TestMergeByTimestamp(t *testing.T) {
	m := NewMerger(time.Second)
	m.Add(events.Messages, at(0, 10, 20, 30, 40), 4)
	m.Add(events.Reads, at(0, 5, 20, 35), 3)
	m.Add(events.Deliveries, at(0, 20, 1), 2) // the input's order holds even where timestamps go back
	items, until := m.Pick(t0, nil, 100)
	if got, want := inOrder(items), "r0 m0 m1 r1 d0 d1 m2 r2 m3"; got != want || !until.IsZero() {
		t.Errorf("got %s, wait until %v; want %s", got, until, want)
	}
}

func TestMergeBounded(t *testing.T) {
	m := NewMerger(time.Second)
	m.Add(events.Messages, at(0, 10, 20, 30), 3)
	m.Add(events.Reads, at(0, 15, 25), 2)
	var got []string
	for m.Any() {
		items, _ := m.Pick(t0, nil, 2)
		got = append(got, inOrder(items))
	}
	if want := []string{"m0 r0", "m1 r1", "m2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMergeWaitsForWhatIsBehind(t *testing.T) {
	m := NewMerger(time.Second)
	m.streams[events.Reads].end = 2 // so two more reads exist
	m.Add(events.Messages, at(0, 10, 20), 2)
	if items, until := m.Pick(t0, nil, 10); len(items) != 0 || !until.Equal(t0.Add(time.Second)) {
		t.Fatalf("got %s, wait until %v; want to wait a second", inOrder(items), until)
	}
	m.Add(events.Reads, at(0, 12), 2)
	items, _ := m.Pick(t0, nil, 10)
	if got := inOrder(items); got != "m0 r0" {
		t.Fatalf("got %s, want what comes before the read that is still to come", got)
	}
	if items, until := m.Pick(t0.Add(100*time.Millisecond), nil, 10); len(items) != 0 || !until.Equal(t0.Add(1100*time.Millisecond)) {
		t.Fatalf("got %s, wait until %v; want a new wait", inOrder(items), until)
	}
	items, _ = m.Pick(t0.Add(1200*time.Millisecond), nil, 10)
	if got := inOrder(items); got != "m1" {
		t.Fatalf("got %s, want the messages alone after the wait", got)
	}
	m.Add(events.Messages, at(2, 30), 3)
	items, until := m.Pick(t0.Add(1300*time.Millisecond), nil, 10)
	if got := inOrder(items); got != "m2" || !until.IsZero() {
		t.Fatalf("got %s, wait until %v; want no second wait for the same records", got, until)
	}
	m.Add(events.Reads, at(1, 13), 3)
	m.Add(events.Messages, at(3, 40), 4)
	items, _ = m.Pick(t0.Add(1400*time.Millisecond), nil, 10)
	if got := inOrder(items); got != "r1" {
		t.Errorf("got %s, want the read, and the next one waited for again", got)
	}
}

func TestMergeDoesNotWaitAtTheEnd(t *testing.T) {
	m := NewMerger(time.Second)
	m.streams[events.Reads].next, m.streams[events.Reads].end = 7, 7
	m.Add(events.Messages, at(0, 10), 1)
	if items, until := m.Pick(t0, nil, 10); inOrder(items) != "m0" || !until.IsZero() {
		t.Errorf("got %s, wait until %v", inOrder(items), until)
	}
	if items, until := m.Pick(t0, nil, 10); len(items) != 0 || !until.IsZero() {
		t.Errorf("of nothing got %s, wait until %v", inOrder(items), until)
	}
}

func TestMergeHoldsBackWhatIsBeyondTheLimit(t *testing.T) {
	m := NewMerger(time.Second)
	m.streams[events.Messages].limit = 2
	m.streams[events.Reads].limit = 0 // nothing to come
	m.streams[events.Reads].end = 5
	m.Add(events.Messages, at(0, 10, 20, 30), 3)
	items, until := m.Pick(t0, nil, 10)
	if got := inOrder(items); got != "m0 m1" || !until.IsZero() {
		t.Errorf("got %s, wait until %v", got, until)
	}
	if m.Any() {
		t.Error("a record that is held back is offered")
	}
}

func TestMergeLeavesOutWhatCameBefore(t *testing.T) {
	m := NewMerger(time.Second)
	m.streams[events.Messages].next = 3
	m.Add(events.Messages, at(0, 1, 2, 3, 4, 5), 5)
	m.Add(events.Messages, at(2, 3, 4, 5, 6), 6)
	items, _ := m.Pick(t0, nil, 10)
	if got := inOrder(items); got != "m3 m4 m5" {
		t.Errorf("got %s", got)
	}
}

// TestMergeRandom: however the records arrive, each comes out once, and each input in its own
// order.
func TestMergeRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		m := NewMerger(0)
		var left [events.NumInputs][]*kgo.Record
		total := 0
		for i := range left {
			millis := make([]int64, r.IntN(50))
			for j := range millis {
				millis[j] = int64(r.IntN(40))
			}
			left[i] = at(0, millis...)
			total += len(millis)
		}
		var got []Item
		var next [events.NumInputs]int64
		for len(got) < total {
			for i := range left {
				n := r.IntN(len(left[i]) + 1)
				end := int64(len(left[i])) + m.streams[i].next
				m.Add(events.Input(i), slices.Clone(left[i][:n]), end)
				left[i] = left[i][n:]
			}
			items, _ := m.Pick(t0, nil, 1+r.IntN(10))
			for _, it := range items {
				if it.Rec.Offset != next[it.In] {
					t.Fatalf("%s: offset %d out of its order", it.In, it.Rec.Offset)
				}
				next[it.In]++
			}
			got = append(got, items...)
		}
		if m.Any() {
			t.Fatal("more came out than went in")
		}
	}
}
