package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/limit"
)

// inboxOf returns an inbox that lists channels with these unread counts, up to an offset.
func inboxOf(m int64, unread map[string]uint32) *inbox {
	at := view.Position{0: {M: m}}
	in := &inbox{at: at, threadsAt: at}
	for id, n := range unread {
		in.channels = append(in.channels, view.View{Channel: id, Member: true, Unread: n})
	}
	return in
}

// A device that takes its frames slowly requests an inbox twice. In the end it gets the fresh one,
// and answers that wait beside them are not lost.
func TestAFreshInboxReplacesOneThatWaits(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	d := g.device(t, u)
	d.loading = true
	g.install(d, inboxOf(10, map[string]uint32{"general": 1}), false)
	d.Send(wire.Item{Frame: frames.Ready([]byte(`{"type":"ack","id":"1"}`))})
	d.loading = true
	g.install(d, inboxOf(20, map[string]uint32{"general": 2}), false)
	frames := d.waiting(t)
	if len(frames) != 2 || frames[0]["type"] != "inbox" || frames[1]["type"] != "ack" {
		t.Fatalf("%v wait, want the inbox and the ack", frames)
	}
	if n := frame2(frames[0], "totals", "unread"); n != 2.0 {
		t.Errorf("the inbox says %v unread, want 2", n)
	}
}

// A delta or an inbox may contain a leave before the timeline does. In either case the gateway
// drops the frames that wait for the user's devices.
func TestWhoLeftByTheFoldsWordHearsNothingThatWaited(t *testing.T) {
	for name, leave := range map[string]func(g *Gateway, u *user){
		"a delta": func(g *Gateway, u *user) {
			g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("general"), Stamp: events.Stamp{FoldVersion: 1, M: 20}})
		},
		"another device's inbox": func(g *Gateway, u *user) {
			g.install(g.loadingDevice(t, u), inboxOf(20, nil), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := bare()
			u := g.someone("ann")
			g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("general"), Member: true, Unread: 1, Stamp: events.Stamp{FoldVersion: 1, M: 10}})
			d := g.device(t, u)
			d.Send(wire.Item{Channel: "general", Frame: frames.Ready([]byte(`{"type":"message.new","channel_id":"general"}`))})
			leave(g, u)
			frames := d.waiting(t)
			if len(frames) != 1 || frames[0]["type"] != "unread.updated" || frames[0]["member"] != false {
				t.Errorf("%v wait, want that they are no member", frames)
			}
			g.revoke(g.hubs.list[0], members(events.KindMembersLeft, "general", "ann"), 15)
			if n := len(d.waiting(t)); n != 1 {
				t.Errorf("%d frames wait after the timeline has said so", n)
			}
		})
	}
}

// The other devices get an inbox's changes with the totals of that moment, and in the end with the
// totals of all changes.
func TestTotalsWhileAnInboxIsInstalled(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	first, later := map[string]uint32{}, map[string]uint32{}
	for i := range 10 {
		id := fmt.Sprintf("c%d", i)
		first[id], later[id] = 1, uint32(10*i)
	}
	delete(later, "c9") // a channel that they have left
	g.install(g.loadingDevice(t, u), inboxOf(10, first), false)
	d := g.device(t, u)
	g.install(g.loadingDevice(t, u), inboxOf(20, later), false)
	sum, channels := uint64(10), uint64(10)
	for _, f := range d.waiting(t) {
		n := uint64(f["unread"].(float64))
		if sum += n - 1; n == 0 {
			channels--
		}
		if got := (view.Totals{Unread: uint64(frame2(f, "totals", "unread").(float64)), Channels: uint64(frame2(f, "totals", "unread_channels").(float64))}); got != (view.Totals{Unread: sum, Channels: channels}) {
			t.Errorf("with %v: %+v, want %d in %d", f["channel_id"], got, sum, channels)
		}
	}
	if want := (view.Totals{Unread: 360, Channels: 8, Badge: 360}); u.totals != want || sum != 360 {
		t.Errorf("in the end %+v, told %d; want %+v", u.totals, sum, want)
	}
	kept := u.totals
	if u.total(); u.totals != kept {
		t.Errorf("added up anew %+v, kept up %+v", u.totals, kept)
	}
}

// The gateway forgives refused frames with time. A user who exceeds their share now and then keeps
// the connection for weeks, and a user who does so continuously loses it.
func TestRefusalsAreForgiven(t *testing.T) {
	g := bare()
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	g.cfg.Limits.FramesBurst = 10
	g.commands, g.crowds = limit.NewRates(1, 10, clock), limit.NewRates(1000, 1000, clock)
	d := g.device(t, g.someone("ann"))
	asks := func(n int) (allowed int) {
		for range n {
			if d.mayAsk() {
				allowed++
			}
		}
		return allowed
	}
	for day := range 10 {
		if n := asks(15); n != 10 || d.Closing() != 0 {
			t.Fatalf("day %d: %d of 15 were allowed, closed with %d; want 10, open", day, n, d.Closing())
		}
		now = now.Add(24 * time.Hour)
	}
	if asks(21); d.Closing() != CloseRate {
		t.Errorf("21 at once: closed with %d, want %d", d.Closing(), CloseRate)
	}
}

// frame2 returns a field of a field.
func frame2(f map[string]any, outer, inner string) any {
	m, _ := f[outer].(map[string]any)
	return m[inner]
}
