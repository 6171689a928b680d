package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
)

// inboxOf is an inbox that lists channels with so many unread each, up to an offset.
func inboxOf(m int64, unread map[string]uint32) *inbox {
	at := position{0: {M: m}}
	in := &inbox{at: at, heard: at}
	for id, n := range unread {
		in.channels = append(in.channels, view{channel: id, member: true, unread: n})
	}
	return in
}

// A device that takes its frames slowly asks twice for an inbox. What it takes in the end is the fresh one, and answers that
// wait beside them are not lost.
func TestAFreshInboxReplacesOneThatWaits(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	d := g.device(t, u)
	d.loading = true
	g.install(d, inboxOf(10, map[string]uint32{"general": 1}), false)
	d.send(item{body: []byte(`{"type":"ack","id":"1"}`)})
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

// The fold says that somebody has left before the timeline does: what waited for his device is dropped all the same, also
// where an inbox is the one that says so.
func TestWhoLeftByTheFoldsWordHearsNothingThatWaited(t *testing.T) {
	for name, leave := range map[string]func(g *Gateway, u *user){
		"a delta": func(g *Gateway, u *user) {
			g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("general"), Stamp: events.Stamp{FoldVersion: 1, M: 20}})
		},
		"another device's inbox": func(g *Gateway, u *user) {
			g.install(&conn{g: g, user: u, loading: true}, inboxOf(20, nil), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := bare()
			u := g.someone("ann")
			g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("general"), Member: true, Unread: 1, Stamp: events.Stamp{FoldVersion: 1, M: 10}})
			d := g.device(t, u)
			d.send(item{channel: "general", body: []byte(`{"type":"message.new","channel_id":"general"}`)})
			leave(g, u)
			frames := d.waiting(t)
			if len(frames) != 1 || frames[0]["type"] != "unread.updated" || frames[0]["member"] != false {
				t.Errorf("%v wait, want that he is no member", frames)
			}
			g.revoke(members(events.KindMembersLeft, "general", "ann"), 15)
			if n := len(d.waiting(t)); n != 1 {
				t.Errorf("%d frames wait after the timeline has said so", n)
			}
		})
	}
}

// What an inbox changes is told to the other devices with the totals of that moment, and in the end with those of all.
func TestTotalsWhileAnInboxIsInstalled(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	first, later := map[string]uint32{}, map[string]uint32{}
	for i := range 10 {
		id := fmt.Sprintf("c%d", i)
		first[id], later[id] = 1, uint32(10*i)
	}
	delete(later, "c9") // which he has left
	g.install(&conn{g: g, user: u, loading: true}, inboxOf(10, first), false)
	d := g.device(t, u)
	g.install(&conn{g: g, user: u, loading: true}, inboxOf(20, later), false)
	sum, channels := uint64(10), uint64(10)
	for _, f := range d.waiting(t) {
		n := uint64(f["unread"].(float64))
		if sum += n - 1; n == 0 {
			channels--
		}
		if got := (totals{unread: uint64(frame2(f, "totals", "unread").(float64)), channels: uint64(frame2(f, "totals", "unread_channels").(float64))}); got != (totals{unread: sum, channels: channels}) {
			t.Errorf("with %v: %+v, want %d in %d", f["channel_id"], got, sum, channels)
		}
	}
	if want := (totals{unread: 360, channels: 8}); u.totals != want || sum != 360 {
		t.Errorf("in the end %+v, told %d; want %+v", u.totals, sum, want)
	}
	kept := u.totals
	if u.total(); u.totals != kept {
		t.Errorf("added up anew %+v, kept up %+v", u.totals, kept)
	}
}

// Who now and then exceeds his share is not closed for the sum of weeks; who goes on without one is.
func TestRefusalsAreForgiven(t *testing.T) {
	g := bare()
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	g.cfg.Limits.FramesBurst = 10
	g.commands, g.crowds = newLimiters(1, 10, clock), newLimiters(1000, 1000, clock)
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
		if n := asks(15); n != 10 || d.closing.code != 0 {
			t.Fatalf("day %d: %d of 15 were allowed, closed with %d; want 10, open", day, n, d.closing.code)
		}
		now = now.Add(24 * time.Hour)
	}
	if asks(21); d.closing.code != CloseRate {
		t.Errorf("21 at once: closed with %d, want %d", d.closing.code, CloseRate)
	}
}

// frame2 is a field of a field.
func frame2(f map[string]any, outer, inner string) any {
	m, _ := f[outer].(map[string]any)
	return m[inner]
}
