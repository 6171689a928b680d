package projections

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/rules"
)

// TestExcludedOfWhoReadsSingly: a user reads a whole large channel message by message, including
// silent ones. Their deltas list the newest counted messages, even if a whole list of silent
// messages is newer.
func TestExcludedOfWhoReadsSingly(t *testing.T) {
	id := testIdentity()
	id.Settings.FanoutLimit = 0
	p := mustOpen(t, vfs.NewMem(), id)
	defer p.Close()
	const n, most = 6000, 25 // messages; the most that one event reads
	silent := func(i int) bool { return i%7 == 0 || i >= 2000 && i < 4500 }
	p.rules.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("c"), IDs: [][]byte{[]byte("a"), []byte("b")}, OccurredAt: 1}, 0, 1)
	for i := range n {
		p.rules.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: fmt.Appendf(nil, "m%08d", i), SenderID: []byte("b"),
			Silent: silent(i), OccurredAt: 1}, p.rules.Positions[events.Messages], 1)
	}
	c := p.rules.Channels.At(p.rules.ChannelOf([]byte("c")))
	var counted []uint32 // seqs
	var ids [][]byte
	for i := 11; i < n; i++ { // earlier ones stay unread
		ids = append(ids, fmt.Appendf(nil, "m%08d", i))
		if !silent(i) {
			counted = append(counted, uint32(i+1))
		}
		if len(ids) < most {
			continue
		}
		p.rules.FoldRead(&events.Read{Kind: events.KindMessagesRead, ChannelID: []byte("c"), UserID: []byte("a"), IDs: ids, OccurredAt: 1}, p.rules.Positions[events.Reads], 1)
		ids = ids[:0]
		v, _ := p.View("a", "c")
		want := p.rules.PositionsOf(c, slices.Clone(counted[max(0, len(counted)-rules.MaxListed):]))
		if !slices.Equal(v.Excluded, want) {
			t.Fatalf("after %d single reads %d positions are listed, from %d on; want %d from %d on", i-10, len(v.Excluded), v.Excluded[:1], len(want), want[:1])
		}
	}
}

// TestExcludedWhereNothingCounts: a user who hides silent messages of a large channel has no
// excluded positions, and the fold allocates no memory for any.
func TestExcludedWhereNothingCounts(t *testing.T) {
	id := testIdentity()
	id.Settings.FanoutLimit = 0
	p := mustOpen(t, vfs.NewMem(), id)
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann")
	f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte("m1"), Silent: true})
	f.setting("c", "ann", events.Read{Kind: events.KindMessagesHidden, Seq: 1})
	if v, ok := p.View("ann", "c"); !ok || cap(v.Excluded) != 0 {
		t.Errorf("%d positions are excluded, with room for %d, %t", len(v.Excluded), cap(v.Excluded), ok)
	}
}
