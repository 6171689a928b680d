package gateway

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// A message comes into a large channel of ann's after her inbox was read. It is folded, and bob
// gets it. Only then is ann's inbox installed. No delta has the missing message, and nothing sends
// it again, so the inbox must be read once more.
func TestAnInboxReachesWhatOthersWereTold(t *testing.T) {
	for _, c := range []struct {
		name          string
		known         bool  // bob is connected
		reached, seen int64 // the offset that the channel's record includes, and the offset that the feed has reached
		inbox         int64
		want          []string
		asksTheRest   bool // whether the gateway asks for the rest if it installs the inbox unchanged
	}{
		{"the inbox includes what bob was told", true, 10, 11, 10, nil, false},
		{"bob was told more", true, 11, 11, 10, []string{"chat.messages/0/10"}, true},
		{"bob was told more, and the feed has seen more", true, 11, 14, 10, []string{"chat.messages/0/13"}, true},
		{"bob was told more than the feed has seen of the messages", true, 11, 10, 10, []string{"chat.messages/0/10"}, true},
		{"nobody was told, and the inbox includes what was seen", false, 0, 10, 10, nil, false},
		{"nobody was told, and the feed has seen more", false, 0, 12, 10, []string{"chat.messages/0/11"}, false},
	} {
		g := bare()
		g.asks = make(chan ask, 1)
		g.seen[0].Store(c.seen)
		h := g.hubs.list[0]
		if c.known {
			bob := &user{id: "bob", hub: h, entries: map[string]*entry{}}
			h.setMember(bob, bob.entryOf("crowd"), "crowd", true)
			h.channels["crowd"].Record = &events.ChannelRecord{Large: true, Stamp: events.Stamp{M: c.reached}}
		}
		ann := &user{id: "ann", hub: h, entries: map[string]*entry{}}
		in := &inbox{channels: []view.View{{Channel: "crowd", Member: true}}, at: view.Position{0: {M: c.inbox}}, threadsAt: view.Position{}}
		device := g.loadingDevice(t, ann)
		if after := g.install(device, in, true); !slices.Equal(after, c.want) || device.loading != (c.want != nil) {
			t.Errorf("%s: read once more up to %v, want %v", c.name, after, c.want)
		}
		if c.want != nil { // it does not arrive in time
			if after := g.install(device, in, false); after != nil || device.loading {
				t.Errorf("%s: not installed at last", c.name)
			}
		}
		if asks := len(g.asks) == 1; asks != c.asksTheRest {
			t.Errorf("%s: the owner is asked for the rest: %v", c.name, asks)
		}
	}
}
