package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestQueuedWhileAway: tens of thousands of messages that were queued for an absent user are
// counted exactly, after each further one. A count that visits all of them would take minutes here.
func TestQueuedWhileAway(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	const n = 30_000
	p.rules.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("c"), IDs: [][]byte{[]byte("a"), []byte("b")}, OccurredAt: 1}, 0, 1)
	for i := range int64(n) {
		id := fmt.Sprintf("m%08d", i)
		post(p, "c", id, "b", 1)
		p.rules.FoldDelivery(&events.Delivery{Kind: events.KindQueued, ChannelID: []byte("c"), UserID: []byte("a"), MessageID: []byte(id), OccurredAt: 1}, i, 1)
		p.Drain(nil, true)
	}
	want := func(what string, offline uint32) {
		t.Helper()
		if v, _ := p.View("a", "c"); v.OfflineUnread != offline {
			t.Errorf("%s: %d of what is unread was queued, want %d", what, v.OfflineUnread, offline)
		}
	}
	want("all", n)
	for i := range 100 {
		p.rules.FoldMessage(&events.Message{Kind: events.KindMessageDeleted, ChannelID: []byte("c"), MessageID: fmt.Appendf(nil, "m%08d", 2*i), OccurredAt: 1}, p.rules.Positions[events.Messages], 1)
	}
	want("without those that were deleted", n-100)
	readID(p, "a", "m00000099", 1)
	want("read up to the hundredth", n-150)
}
