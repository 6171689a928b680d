package gateway

import (
	"testing"

	"github.com/tidemark/tidemark/events"
)

// bare is a gateway of one partition whose events a test applies by hand: no topics, no owners, no sockets.
func bare() *Gateway {
	g := &Gateway{
		cfg: Config{Partitions: 1, Topics: Topics{Messages: events.TopicMessages}, Limits: Limits{}.withDefaults()}, hub: newHub(),
		seen: map[int32]int64{}, begun: map[int32]int64{}, asks: make(chan ask, 8),
	}
	g.metrics = newMetrics(nil, g)
	return g
}

// someone is a user of a bare gateway who has no device.
func (g *Gateway) someone(id string) *user {
	u := &user{id: id, entries: map[string]*entry{}, known: true}
	g.hub.users[id] = u
	return u
}

func members(kind events.Kind, channel string, ids ...string) *events.Message {
	m := &events.Message{Kind: kind, ChannelID: []byte(channel)}
	for _, id := range ids {
		m.IDs = append(m.IDs, []byte(id))
	}
	return m
}

// Who leaves a channel with unread replies and is back before the fold has said what his threads are has none of them
// counted twice, nor taken out twice: a total that goes below zero would be a badge of 18,446,744,073,709,551,613.
func TestTotalsOfSomebodyWhoIsBackAtOnce(t *testing.T) {
	for name, back := range map[string]func(*Gateway, *user){
		"the timeline says so": func(g *Gateway, _ *user) {
			g.admit(members(events.KindMembersJoined, "general", "ann"), 11)
		},
		"an inbox of another device says so": func(g *Gateway, u *user) {
			g.seen[0] = 13 // and does not reach as far as the feed, so that it is read once more
			device := &conn{g: g, user: u, loading: true}
			in := &inbox{channels: []view{{channel: "general", member: true}}, at: position{0: {M: 12}}, heard: position{0: {M: 12}}}
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
			if want := (totals{unread: 2, channels: 1, threadUnread: 3, threadMentions: 1}); u.totals != want {
				t.Fatalf("before: %+v, want %+v", u.totals, want)
			}
			g.revoke(members(events.KindMembersLeft, "general", "ann"), 10)
			if u.totals != (totals{}) {
				t.Fatalf("after leaving: %+v", u.totals)
			}
			back(g, u)
			if u.totals != (totals{}) {
				t.Fatalf("back: %+v", u.totals)
			}
			reply.Unread, reply.Mentions, reply.Stamp.M = 1, 0, 13
			g.applyThread(u, reply)
			if want := (totals{threadUnread: 1}); u.totals != want {
				t.Fatalf("a reply later: %+v, want %+v", u.totals, want)
			}
			u.total()
			if want := (totals{threadUnread: 1}); u.totals != want {
				t.Fatalf("added up anew: %+v, want %+v", u.totals, want)
			}
		})
	}
}
