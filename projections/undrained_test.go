package projections

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestUndrained counts the pairs that wait for a drain: the sender's own at once, and the members of
// a small channel once, however many messages it gets.
func TestUndrained(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	var d Deltas
	want := func(what string, own, all int) {
		t.Helper()
		if p.Undrained(false) != own || p.Undrained(true) != all {
			t.Errorf("%s: %d pairs wait, and with the fan-out %d, want %d and %d", what, p.Undrained(false), p.Undrained(true), own, all)
		}
	}
	for _, channel := range []string{"c", "d"} {
		p.rules.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: []byte(channel),
			IDs: [][]byte{[]byte("a"), []byte("b"), []byte("u")}, OccurredAt: 1}, p.rules.Positions[events.Messages], 1)
	}
	p.Drain(&d, true)
	want("at first", 0, 0)
	for _, id := range []string{"m1", "m2", "m3"} {
		post(p, "c", id, "a", 2)
	}
	want("three messages in one channel", 1, 4)
	post(p, "d", "m4", "a", 2)
	want("one in another", 2, 8)
	p.Drain(&d, false)
	p.DrainRecords(&d)
	want("after a drain without the fan-out", 0, 6)
	post(p, "d", "m5", "b", 3)
	want("one more", 1, 7)
	p.Drain(&d, true)
	want("after a drain", 0, 0)
}
