package gateway

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// Found by a device that lacked the newest message until it reconnected, on a slow machine: ann's
// inbox is read; a message comes into a large channel of hers, is folded, and bob gets it; only
// then is ann's inbox installed. No delta has the missing message, and nothing sends it again: the
// inbox has to be read once more.
func TestAnInboxReachesWhatOthersWereTold(t *testing.T) {
	for _, c := range []struct {
		name          string
		known         bool  // bob is connected
		reached, seen int64 // how far the channel's record reaches, and how far the feed has seen
		inbox         int64
		want          []string
		asksTheRest   bool // if the inbox is installed as it is
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
		if c.want != nil { // it does not get there in time
			if after := g.install(device, in, false); after != nil || device.loading {
				t.Errorf("%s: not installed at last", c.name)
			}
		}
		if asks := len(g.asks) == 1; asks != c.asksTheRest {
			t.Errorf("%s: the owner is asked for the rest: %v", c.name, asks)
		}
	}
}
