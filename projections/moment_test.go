package projections

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// walked returns a room whose messages and receipts are in all places that a walk reads: in Pebble,
// in a cut that is not applied, and in memory.
func walked(t *testing.T) (*receiptsFixture, *Cut) {
	fixture := newReceiptsFixture(t, 150)
	for n := range 100 {
		fixture.post(n)
		fixture.read(1+n, uint32(n))
		if n == 40 {
			mustCut(t, fixture.p)
		}
	}
	var d Deltas
	fixture.p.Drain(&d, true)
	cut, err := fixture.p.Cut()
	if err != nil {
		t.Fatal(err)
	}
	for n := 100; n < 140; n++ {
		fixture.post(n)
		fixture.read(n, uint32(n))
	}
	return fixture, cut
}

func (r *receiptsFixture) apply(c *Cut) {
	r.t.Helper()
	if err := c.Apply(); err != nil {
		r.t.Error(err)
	}
}

// TestCloseWaitsForWalks: Close waits for an answer that was begun. The answer ends soon, with an
// error.
func TestCloseWaitsForWalks(t *testing.T) {
	fixture := receiptsFixture{t: t, p: mustOpen(t, vfs.NewMem(), testIdentity()), now: 1_790_000_000_000}
	fixture.message(events.Message{Kind: events.KindMembersJoined, IDs: [][]byte{[]byte("user-00000"), []byte("user-00001")}})
	for n := range 100 {
		fixture.post(n)
		fixture.read(1, uint32(n))
	}
	mustCut(t, fixture.p)
	fixture.p.RLock()
	receipts, _ := fixture.p.BeginReceipts("room", "m00003", 0, NewReceiptsMemory(10))
	explain, _ := fixture.p.BeginExplain("user-00001", "room")
	finished, _ := fixture.p.BeginReceipts("room", "m00003", 0, NewReceiptsMemory(10))
	fixture.p.RUnlock()
	if v, err := finished.End(context.Background()); err != nil || len(v.List) != 1 || v.List[0].ReadAt == 0 {
		t.Fatalf("before the store is closed: %+v, %v", v, err)
	}
	closed := make(chan error, 1)
	go func() {
		fixture.p.Lock()
		defer fixture.p.Unlock()
		closed <- fixture.p.Close() // while a store is in use, Pebble reports that an iterator leaks
	}()
	for !fixture.p.stored.Closing.Load() {
		time.Sleep(time.Millisecond)
	}
	if v, err := receipts.End(context.Background()); !errors.Is(err, ErrClosing) || v.Recipients != 0 {
		t.Errorf("receipts while the store is closed: %+v, %v", v, err)
	}
	select {
	case err := <-closed:
		t.Fatalf("the store was closed under an answer: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	if x, err := explain.End(context.Background()); !errors.Is(err, ErrClosing) || x.Unread != 0 {
		t.Errorf("an explanation while the store is closed: %+v, %v", x, err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestWalksAreGivenUp: an answer ends when its caller has gone, and the store has no error.
func TestWalksAreGivenUp(t *testing.T) {
	fixture, cut := walked(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("the caller has gone")
	cancel(gone)
	receipts, _ := fixture.p.BeginReceipts("room", "m00003", 0, NewReceiptsMemory(10))
	explain, _ := fixture.p.BeginExplain("user-00149", "room")
	if _, err := receipts.End(ctx); !errors.Is(err, gone) {
		t.Errorf("receipts: %v", err)
	}
	if _, err := explain.End(ctx); !errors.Is(err, gone) {
		t.Errorf("an explanation: %v", err)
	}
	if err := fixture.p.rules.Err(); err != nil {
		t.Errorf("the store: %v", err)
	}
	fixture.apply(cut)
}

// TestWalksBesideTheFold: several callers query at once, while another goroutine folds, cuts and
// applies. Each gets the answer of the position at which it held the lock.
func TestWalksBesideTheFold(t *testing.T) {
	fixture, cut := walked(t)
	fixture.apply(cut)
	const asks = 50
	left := atomic.Int32{}
	var asking sync.WaitGroup
	for seed := range uint64(4) {
		left.Add(1)
		asking.Go(func() {
			defer left.Add(-1)
			rng := rand.New(rand.NewPCG(seed, 3))
			for range asks {
				message, user := fmt.Sprintf("m%05d", rng.IntN(140)), fmt.Sprintf("user-%05d", rng.IntN(150))
				from, limit := rng.Uint32N(150), rng.IntN(70)
				fixture.p.RLock()
				wantV, _ := fixture.p.Receipts("room", message, from, limit)
				wantX, _ := fixture.p.Explain(user, "room")
				v, _ := fixture.p.BeginReceipts("room", message, from, NewReceiptsMemory(limit))
				x, _ := fixture.p.BeginExplain(user, "room")
				fixture.p.RUnlock()
				if got, err := v.End(context.Background()); err != nil || !reflect.DeepEqual(got, wantV) {
					t.Errorf("receipts of %s from %d: %+v, %v; under the lock %+v", message, from, got, err, wantV)
				}
				if got, err := x.End(context.Background()); err != nil || !reflect.DeepEqual(got, wantX) {
					t.Errorf("explaining %s: %+v, %v; under the lock %+v", user, got, err, wantX)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for n := 140; left.Load() > 0; n++ {
		fixture.p.Lock()
		fixture.post(n)
		for range 5 {
			fixture.read(rng.IntN(150), rng.Uint32N(uint32(n))+1)
		}
		fixture.message(events.Message{Kind: events.KindMessageDeleted, MessageID: fmt.Appendf(nil, "m%05d", rng.IntN(n))})
		fixture.message(events.Message{Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "s%05d", n), Silent: true})
		fixture.p.Unlock()
		if n%7 == 0 {
			var d Deltas
			fixture.p.Drain(&d, true)
			cut, err := fixture.p.Cut()
			if err != nil {
				t.Error(err)
				continue
			}
			fixture.apply(cut)
		}
	}
	asking.Wait()
}

// TestFirstOwnPost: a user who posted after a message has read it at the time of their first post
// after it, whether they posted once, at the end, or all the time, and wherever the log is.
func TestFirstOwnPost(t *testing.T) {
	fixture := newReceiptsFixture(t, 4)
	postIn := func(n, user int, thread string) int64 {
		fixture.message(events.Message{Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "m%05d", n), SenderID: fmt.Appendf(nil, "user-%05d", user), ThreadID: []byte(thread)})
		return fixture.now
	}
	const messages = 400
	first := map[string]map[int]int64{"m00000": {}, "m00001": {}}
	note := func(message string, user int, at int64) {
		if first[message][user] == 0 {
			first[message][user] = at
		}
	}
	postIn(0, 0, "")
	postIn(1, 0, "m00000")
	for n := 2; n < messages; n++ {
		user, thread := 1, ""
		switch {
		case n == messages-2:
			user = 2
		case n == messages-1:
			user, thread = 3, "m00000"
		case n%3 == 0:
			thread = "m00000"
		}
		at := postIn(n, user, thread)
		if thread == "" {
			note("m00000", user, at)
		} else {
			note("m00001", user, at)
		}
		if n == messages/2 {
			mustCut(t, fixture.p)
		}
	}
	for message, want := range first {
		v, ok := fixture.p.Receipts("room", message, 0, 10)
		if !ok || len(v.List) != 3 || int(v.Read) != len(want) {
			t.Fatalf("%s: %+v", message, v)
		}
		for i, x := range v.List {
			if x.ReadAt != want[i+1] || x.Read != (want[i+1] != 0) {
				t.Errorf("%s: %+v, the first post after it was at %d", message, x, want[i+1])
			}
		}
	}
}

// TestCountsOfMembersOnOtherPages: members who are not on the listed page are counted by their
// rows, or by their stored receipts where the row is not enough: single reads of any message, and
// deliveries of a small one. This holds for any page of members, and for receipts in Pebble, in a
// cut that is not applied, and in memory.
func TestCountsOfMembersOnOtherPages(t *testing.T) {
	const members, messages = 1_000, 40
	fixture := newReceiptsFixture(t, members)
	for n := range messages {
		fixture.message(events.Message{Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "m%05d", n), SenderID: []byte("user-00000"), MemberCount: uint32(10 + n%2*90)})
	}
	check := func(what string, message, read, delivered int) {
		t.Helper()
		v, ok := fixture.p.Receipts("room", fmt.Sprintf("m%05d", message), 0, 1)
		if !ok || v.Recipients != members-1 || len(v.List) != 1 || int(v.Read) != read || int(v.Delivered) != delivered {
			t.Errorf("%s: m%05d: %+v, want %d of %d read, %d delivered", what, message, v, read, members-1, delivered)
		}
	}
	postIn := func(user int) {
		fixture.now += 37
		fixture.p.rules.FoldRead(&events.Read{Kind: events.KindMessagesRead, ChannelID: []byte("room"), UserID: fmt.Appendf(nil, "user-%05d", user),
			OccurredAt: fixture.now, IDs: [][]byte{[]byte("m00002"), []byte("m00003")}}, fixture.r, fixture.now)
		fixture.r++
		fixture.deliver(user+1, 2)
		fixture.now += 37
		fixture.p.rules.FoldDelivery(&events.Delivery{Kind: events.KindDelivered, ChannelID: []byte("room"), UserID: fmt.Appendf(nil, "user-%05d", user+2),
			OccurredAt: fixture.now, UpToID: []byte("m00036")}, fixture.d, fixture.now)
		fixture.d++
	}
	all := func(what string, each int) {
		check(what, 2, each, 3*each)
		check(what, 3, each, each)
		check(what, 20, 0, each)
		check(what, 38, 0, 0)
	}
	postIn(200)
	all("in memory", 1)
	var d Deltas
	fixture.p.Drain(&d, true)
	cut, err := fixture.p.Cut()
	if err != nil {
		t.Fatal(err)
	}
	all("in a cut", 1)
	postIn(500)
	all("in a cut and in memory", 2)
	fixture.apply(cut)
	all("stored and in memory", 2)
	mustCut(t, fixture.p)
	all("stored", 2)
	postIn(900)
	all("stored, and more", 3)
}
