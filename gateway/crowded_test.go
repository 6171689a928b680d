package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/sliced"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// longest runs fn. It returns the longest time that another user of the same shard had to wait, and
// the duration of fn.
func longest(h *hub, fn func()) (wait, took time.Duration) {
	done, measured := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			began := time.Now()
			h.mu.Lock()
			h.mu.Unlock() //nolint:staticcheck // only the wait is measured
			most = max(most, time.Since(began))
			select {
			case <-done:
				measured <- most
				return
			default:
			}
			time.Sleep(50 * time.Microsecond)
		}
	}()
	began := time.Now()
	fn()
	took = time.Since(began)
	close(done)
	return <-measured, took
}

// TestOneUsersCrowdHoldsUpNobody: an inbox of 100,000 channels is installed, replaced by another
// one, and its user leaves. No other user of the shard waits for more than a part of that time. The
// test uses a ratio, because machines pause. A pause only adds to a wait, so the best of a few
// attempts counts.
func TestOneUsersCrowdHoldsUpNobody(t *testing.T) {
	const attempts = 6
	for attempt := 1; ; attempt++ {
		slow := crowdComesAndGoes(t)
		if len(slow) == 0 {
			return
		}
		if attempt == attempts {
			t.Fatalf("others waited too long in each of %d attempts, in the last one: %s", attempts, strings.Join(slow, "; "))
		}
	}
}

// crowdComesAndGoes returns the steps during which others waited too long.
func crowdComesAndGoes(t *testing.T) (slow []string) {
	const many = 100_000
	crowd := func(m int64) *inbox {
		at := view.Position{0: {M: m}}
		in := &inbox{at: at, threadsAt: at}
		for i := range many {
			in.channels = append(in.channels, view.View{
				Channel: fmt.Sprintf("channel-%d", i), Member: true, Unread: uint32(m),
				Latest: view.Head{Ref: view.Ref{ID: fmt.Sprintf("m%d", i), Seq: 7, At: 1_700_000_000_000}, Sender: "bob", Preview: "what was said last in this channel"},
			})
		}
		return in
	}
	g := bare()
	h := g.hubs.list[0]
	c := g.loadingDevice(t, nil)
	if _, ok := h.connect(c, "ann", 10); !ok {
		t.Fatal("not connected")
	}
	second := g.loadingDevice(t, nil)
	h.connect(second, "ann", 10)
	first, changed := crowd(10), crowd(11)
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"the first inbox", func() { g.install(c, first, false) }},
		{"one that changes every channel", func() { g.install(second, changed, false) }},
		{"leaving", func() { h.disconnect(c); h.disconnect(second) }},
	} {
		wait, took := longest(h, step.do)
		t.Logf("%s: %v, and others waited %v at most", step.what, took, wait)
		if wait > max(took/10, 5*time.Millisecond) {
			slow = append(slow, fmt.Sprintf("%s took %v, and others waited %v", step.what, took, wait))
		}
	}
	wanted := 0
	for i := range many {
		if g.hubs.interest.Of(fmt.Appendf(nil, "channel-%d", i)) != 0 {
			wanted++
		}
	}
	if len(h.users) != 0 || len(h.channels) != 0 || wanted != 0 {
		t.Errorf("%d users, %d channels and interest in %d are left", len(h.users), len(h.channels), wanted)
	}
	return slow
}

// TestWhatHappensWhileAnInboxIsInstalled: between two slices of an inbox the timeline removes one
// channel and adds another, and deltas come. The device gets the newest value of everything, and
// nothing of the channel that its user left.
func TestWhatHappensWhileAnInboxIsInstalled(t *testing.T) {
	const many = 20 * sliced.Steps
	g := bare()
	g.cfg.Limits.InboxBytes, g.cfg.Limits.QueueBytes = 1<<30, 1<<30
	h := g.hubs.list[0]
	c := g.loadingDevice(t, nil)
	u, _ := h.connect(c, "ann", 10)
	in := &inbox{at: view.Position{0: {M: 100}}, threadsAt: view.Position{0: {M: 100}}}
	id := func(i int) string { return fmt.Sprintf("channel-%05d", i) }
	for i := range many {
		in.channels = append(in.channels, view.View{Channel: id(i), Member: true, Unread: 1})
	}
	offset, slices := int64(100), 0
	h.mu.Between = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		slices++
		if !c.loading {
			return // the inbox waits; leaving now would read it again, from owners that do not exist here
		}
		for range 100 {
			offset++
			i := int(offset*7) % many
			switch offset % 3 {
			case 0:
				g.revoke(h, members(events.KindMembersLeft, id(i), "ann"), offset)
			case 1:
				g.admit(h, members(events.KindMembersJoined, fmt.Sprintf("new-%d", offset), "ann"), offset)
			default:
				g.applyDelta(u, &events.UnreadDelta{
					ChannelID: []byte(id(i)), Member: true, Unread: 5, Stamp: events.Stamp{FoldVersion: 1, M: offset + 1},
				})
			}
		}
	}
	g.install(c, in, false)
	if slices < 40 {
		t.Fatalf("the lock was let go %d times", slices)
	}

	// The device's state is the result of its frames, in order.
	got := map[string]float64{}
	for _, it := range c.Waiting() {
		var f map[string]any
		if err := json.Unmarshal(it.Bytes(), &f); err != nil {
			t.Fatalf("%v: %.200s", err, it.Bytes())
		}
		switch f["type"] {
		case "inbox":
			clear(got)
			for _, ch := range f["channels"].([]any) {
				ch := ch.(map[string]any)
				got[ch["channel_id"].(string)] = ch["unread"].(float64)
			}
		case "unread.updated":
			if f["member"] == true {
				got[f["channel_id"].(string)] = f["unread"].(float64)
			} else {
				delete(got, f["channel_id"].(string))
			}
		}
	}
	u.conns = nil
	sum := u.totals
	u.total()
	if u.totals != sum {
		t.Errorf("totals %+v, added up anew %+v", sum, u.totals)
	}
	for id, e := range u.entries {
		n, notified := got[id]
		switch {
		case e.ch == nil && notified:
			t.Errorf("%s was left, and the device still has it", id)
		case e.ch != nil && e.stamp != (events.Stamp{}) && n != float64(e.view.Unread):
			t.Errorf("%s has %d unread, the device was told %v", id, e.view.Unread, n)
		}
	}
}
