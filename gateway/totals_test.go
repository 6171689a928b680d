package gateway

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/admission"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/internal/alarm"
)

// bare returns a gateway of one partition without topics, owners and sockets. The test applies
// events by hand.
func bare() *Gateway {
	g := &Gateway{
		cfg: Config{Partitions: 1, Topics: Topics{Messages: events.TopicMessages}, Limits: Limits{}.WithDefaults(), Now: time.Now}, door: admission.New(admission.Config{}),
		seen: make([]atomic.Int64, 1), reached: make([]view.Highest, 1), logTimes: make([]view.Highest, 1), asks: make(chan ask, 8),
	}
	g.alarms = alarm.New(func() time.Time { return g.cfg.Now() }, g.ring)
	g.hubs = newHubs(1, g.alarms)
	g.metrics = newMetrics(nil, g)
	return g
}

// total adds up everything again.
func (u *user) total() {
	u.totals = view.Totals{}
	for _, e := range u.entries {
		e.threads = view.Threads{}
	}
	for s, t := range u.threads {
		u.entryOf(s.channel).threads.Add(&t.view, +1)
	}
	for _, e := range u.entries {
		u.count(e, +1)
	}
}

// someone returns a user of a bare gateway without a device.
func (g *Gateway) someone(id string) *user {
	u := &user{id: id, hub: g.hubs.list[0], entries: map[string]*entry{}, inboxRead: true}
	u.alarm.Of = u
	g.hubs.list[0].users[id] = u
	return u
}

func members(kind events.Kind, channel string, ids ...string) *events.Message {
	m := &events.Message{Kind: kind, ChannelID: []byte(channel)}
	for _, id := range ids {
		m.IDs = append(m.IDs, []byte(id))
	}
	return m
}

// A user leaves a channel with unread replies, and is back before the fold has published their
// threads. None of them is added or subtracted twice: a total below zero would be a badge of
// 18,446,744,073,709,551,613.
func TestTotalsOfSomebodyWhoIsBackAtOnce(t *testing.T) {
	for name, back := range map[string]func(*Gateway, *user){
		"the timeline says so": func(g *Gateway, _ *user) {
			g.admit(g.hubs.list[0], members(events.KindMembersJoined, "general", "ann"), 11)
		},
		"an inbox of another device says so": func(g *Gateway, u *user) {
			g.seen[0].Store(13) // the feed is ahead of the inbox, so it is read once more
			device := g.loadingDevice(t, u)
			in := &inbox{channels: []view.View{{Channel: "general", Member: true}}, at: view.Position{0: {M: 12}}, threadsAt: view.Position{0: {M: 12}}}
			if after := g.install(device, in, true); after == nil {
				t.Fatal("the inbox was installed")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := bare()
			u := g.someone("ann")
			g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("general"), Member: true, Unread: 2, Stamp: events.Stamp{FoldVersion: 1, M: 9}})
			reply := &events.UnreadDelta{ChannelID: []byte("general"), ThreadID: []byte("m1"), Member: true, Unread: 3, Mentions: 1, Stamp: events.Stamp{FoldVersion: 1, M: 10}}
			g.applyThread(u, reply)
			if want := (view.Totals{Unread: 2, Channels: 1, ThreadUnread: 3, ThreadMentions: 1, Threads: 1, Badge: 5}); u.totals != want {
				t.Fatalf("before: %+v, want %+v", u.totals, want)
			}
			g.revoke(g.hubs.list[0], members(events.KindMembersLeft, "general", "ann"), 10)
			if u.totals != (view.Totals{}) {
				t.Fatalf("after leaving: %+v", u.totals)
			}
			back(g, u)
			if u.totals != (view.Totals{}) {
				t.Fatalf("back: %+v", u.totals)
			}
			reply.Unread, reply.Mentions, reply.Stamp.M = 1, 0, 13
			g.applyThread(u, reply)
			if want := (view.Totals{ThreadUnread: 1, Threads: 1, Badge: 1}); u.totals != want {
				t.Fatalf("a reply later: %+v, want %+v", u.totals, want)
			}
			u.total()
			if want := (view.Totals{ThreadUnread: 1, Threads: 1, Badge: 1}); u.totals != want {
				t.Fatalf("added up anew: %+v, want %+v", u.totals, want)
			}
		})
	}
}
