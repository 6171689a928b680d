package projections

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/views"
)

// allocated returns how many bytes the process allocates while f runs. It includes what other
// goroutines allocate meanwhile, so callers take the least of several runs.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestReadersUnderTheLock: a page of readers begins without a read of the store and almost without
// allocations. Its contents are of the position at which it began, whatever is folded and cut
// before it ends.
func TestReadersUnderTheLock(t *testing.T) {
	const members, messages = 2_000, 400
	fixture := newReceiptsFixture(t, members)
	for n := range messages {
		fixture.post(n)
	}
	for u := 1; u < members; u++ {
		if u%3 > 0 {
			fixture.read(u, uint32(1+u%messages))
		}
	}
	mustCut(t, fixture.p)
	const limit = 1_000
	begin := func() (w *ReadersWalk, bytes uint64) {
		memory := NewReadersMemory(limit)
		looks := 0
		fixture.p.onRead = func() { looks++ }
		bytes = allocated(func() { w, _ = fixture.p.BeginReaders("room", 0, memory) })
		fixture.p.onRead = nil
		if w == nil || looks > 0 {
			t.Errorf("%v: %d looks at the store", w, looks)
		}
		return w, bytes
	}
	w, bytes := begin()
	for range 4 {
		again, n := begin()
		if _, err := again.End(context.Background()); err != nil {
			t.Error(err)
		}
		bytes = min(bytes, n)
	}
	if bytes > 32<<10 {
		t.Errorf("%d bytes allocated under the lock", bytes)
	}
	fixture.read(1, messages)
	fixture.post(messages)
	mustCut(t, fixture.p)
	v, err := w.End(context.Background())
	if err != nil || len(v.List) != limit || v.Next != limit {
		t.Fatalf("%d readers, next %d, %v", len(v.List), v.Next, err)
	}
	for u, x := range v.List {
		want := views.Reader{UserID: fmt.Sprintf("user-%05d", u), At: x.At}
		switch {
		case u == 0: // users who posted all messages
			want.Message = views.Ref{MessageID: fmt.Sprintf("m%05d", messages-1), Seq: messages}
		case u%3 > 0:
			want.Message = views.Ref{MessageID: fmt.Sprintf("m%05d", u%messages), Seq: uint32(1 + u%messages)}
		}
		if x != want {
			t.Fatalf("reader %d is %+v, want %+v", u, x, want)
		}
	}
}

// TestReceiptsUnderTheLock: a page of recipients begins without a read of the store and nearly
// without allocations, however large the channel is. Only the first query about the largest channel
// allocates.
func TestReceiptsUnderTheLock(t *testing.T) {
	const members, limit = 20_000, 1_000
	fixture := newReceiptsFixture(t, members)
	fixture.post(0)
	for u := 1; u < members; u += 3 {
		fixture.read(u, 1)
	}
	mustCut(t, fixture.p)
	bytes := uint64(math.MaxUint64)
	for range 5 {
		memory := NewReceiptsMemory(limit)
		looks := 0
		fixture.p.onRead = func() { looks++ }
		var w *ReceiptsWalk
		bytes = min(bytes, allocated(func() { w, _ = fixture.p.BeginReceipts("room", "m00000", 0, memory) }))
		fixture.p.onRead = nil
		if w == nil || looks > 0 {
			t.Errorf("%v: %d looks at the store", w, looks)
		}
		v, err := w.End(context.Background())
		if err != nil || len(v.List) != limit || v.Next == 0 || v.Recipients != members-1 || v.Read != (members+1)/3 {
			t.Fatalf("%d of %d recipients, %d read, next %d, %v", len(v.List), v.Recipients, v.Read, v.Next, err)
		}
		for i, x := range v.List {
			if want := fmt.Sprintf("user-%05d", i+1); x.UserID != want || x.Read != (i%3 == 0) {
				t.Fatalf("recipient %d is %+v, want %s", i, x, want)
			}
		}
	}
	if bytes > 32<<10 {
		t.Errorf("%d bytes allocated under the lock", bytes)
	}
}

// TestUserPage: a page of a user's channels has the first of them ordered by id, page after page,
// and its allocations do not grow with the channels.
func TestUserPage(t *testing.T) {
	const channels = 3_000
	fixture := newSweepFixture(t, 0, 0)
	for i := range channels {
		id := fmt.Appendf(nil, "c%05d", i*7919%channels)
		fixture.message(events.Message{Kind: events.KindMembersJoined, ChannelID: id, IDs: [][]byte{[]byte("a")}})
	}
	var all []string
	if err := fixture.p.UserRows("a", func(r *UserRow) bool {
		all = append(all, string(r.ChannelID))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	for _, limit := range []int{1, 51, 1_001, channels, channels + 1} {
		var got []string
		after := ""
		for pages := 0; len(got) < len(all) && pages < 60; pages++ {
			page := NewUserPage(after, limit)
			if n := allocated(func() { _ = page.Fill(fixture.p, nil, "a") }); n > 32<<10 {
				t.Errorf("%d bytes are allocated under the lock for a page of %d", n, limit)
			}
			slices.SortFunc(page.Rows, func(a, b UserRow) int { return bytes.Compare(a.ChannelID, b.ChannelID) })
			for _, r := range page.Rows {
				got = append(got, string(r.ChannelID))
			}
			after = got[len(got)-1]
		}
		if !reflect.DeepEqual(got, all[:len(got)]) || len(got) < min(len(all), 60*limit) {
			t.Errorf("pages of %d: %d channels, want the first of %d", limit, len(got), len(all))
		}
	}
}
