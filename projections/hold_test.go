package projections

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestNobodyWaitsForACut: in the middle of a cut, after each encoded item, the lock is free, and
// every query has the same answer as before the cut, including receipts that are being merged. The
// work of a cut under the lock does not grow with the dirty state.
func TestNobodyWaitsForACut(t *testing.T) {
	const members, messages = 3_000, 40
	fixture := newReceiptsFixture(t, members)
	p := fixture.p
	postIn := func(n int) {
		fixture.message(events.Message{Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "m%05d", n), SenderID: []byte("user-00000"),
			ThreadID: []byte(map[bool]string{true: "m00001"}[n%5 == 4]), IDs: [][]byte{fmt.Appendf(nil, "user-%05d", n)}})
	}
	dirty := func(from int) {
		for n := range messages {
			postIn(from + n)
		}
		for u := 1; u < members; u += 2 {
			fixture.read(u, uint32(from+1+u%messages))
			fixture.deliver(u, from+u%messages)
		}
		for g := range 2_500 { // a user who never joined
			fixture.now++
			p.rules.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("room"), UserID: fmt.Appendf(nil, "guest-%05d", from*10_000+g),
				OccurredAt: fixture.now, Target: events.TargetSeq, Seq: uint32(from + 1)}, fixture.r, fixture.now)
			fixture.r++
		}
		p.Drain(&Deltas{}, true)
	}
	answers := func() (out []any) {
		for _, id := range []string{"m00000", "m00017", "m00039", "m00055"} {
			v, ok := p.Receipts("room", id, 0, 20)
			out = append(out, v, ok)
		}
		for _, user := range []string{"user-00003", "guest-00007"} {
			v, _ := p.View(user, "room")
			x, _ := p.Thread(user, "room", "m00001")
			e, _ := p.Explain(user, "room")
			out = append(out, v, x, e)
		}
		r, _ := p.Readers("room", 0, 50)
		return append(out, r, p.rules.Digest(), p.rules.Position())
	}
	for cuts, from := range []int{0, messages} {
		dirty(from)
		before := answers()
		digest := p.rules.Digest()
		steps, locked := 0, 0
		p.onHold = func(cause string) func() {
			if cause == "cut" {
				locked++
			}
			return func() {}
		}
		free := func(when string) {
			if !p.TryLock() {
				t.Fatalf("the lock is held %s", when)
			}
			p.Unlock()
		}
		reads := 0
		p.onRead = func() {
			reads++
			free("while a cut reads the store")
		}
		p.onStep = func() {
			steps++
			free("in the middle of a cut")
			if steps%97 != 0 {
				return
			}
			onRead := p.onRead
			p.onRead = nil
			p.RLock()
			now := answers()
			p.RUnlock()
			p.onRead = onRead
			if locked == 0 && !reflect.DeepEqual(now, before) {
				t.Fatalf("cut %d, step %d: the answers are\n%+v\nand were\n%+v", cuts, steps, now, before)
			}
		}
		cut, err := p.Cut()
		if err != nil {
			t.Fatal(err)
		}
		if p.onStep, p.onHold, p.onRead = nil, nil, nil; cuts > 0 && reads < 100 {
			t.Errorf("a cut reads %d records: not the case that is meant", reads)
		}
		if steps < 2_500 || locked < 3 || locked > 4+2_500/keptPerHold {
			t.Errorf("cut %d: %d steps, the lock was taken %d times", cuts, steps, locked)
		}
		same := func(when string) {
			now := answers()
			at := len(now) - 2
			if p.rules.Digest() == digest || !reflect.DeepEqual(slices.Delete(now, at, at+1), slices.Delete(slices.Clone(before), at, at+1)) {
				t.Errorf("cut %d, %s: the answers are\n%+v\nand were\n%+v", cuts, when, now, before)
			}
		}
		same("before it is applied")
		if err := cut.Apply(); err != nil {
			t.Fatal(err)
		}
		same("after it is applied")
	}
}

// TestDrainLetsGo: the work of a drain in one hold of the lock does not grow with the number of
// changes.
func TestDrainLetsGo(t *testing.T) {
	for _, published := range []bool{true, false} {
		fixture := newReceiptsFixture(t, 20_000)
		n := 0
		fixture.p.onHold = func(cause string) func() {
			if n++; cause != "drain" {
				t.Errorf("the lock is held for %s", cause)
			}
			return func() {
				if !published {
					return
				}
				if !fixture.p.TryRLock() {
					return
				}
				t.Error("the lock is not held")
			}
		}
		var d *Deltas
		if published {
			d = &Deltas{}
		}
		fixture.p.Drain(d, true)
		if n < 20 {
			t.Errorf("told %t: 20,000 pairs are drained under %d holds of the lock", published, n)
		}
		if published && len(d.Records) < 20_000 {
			t.Errorf("%d records", len(d.Records))
		}
		fixture.p.onHold = nil
	}
}

// TestCutWantsFarewellsDrained: the partition publishes the farewells of deleted channels before it
// stores the position.
func TestCutWantsFarewellsDrained(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	p.rules.FoldMessage(&events.Message{Kind: events.KindChannelDeleted, ChannelID: []byte("c"), OccurredAt: 1}, 0, 1)
	p.Drain(&Deltas{}, true)
	p.rules.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 2, Target: events.TargetSeq, Seq: 1}, 0, 2)
	if _, err := p.Cut(); err == nil || !strings.Contains(err.Error(), "not drained") {
		t.Errorf("a cut with a farewell that is not drained: %v", err)
	}
	mustCut(t, p)
}
