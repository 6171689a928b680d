package projections

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// TestDirtyBytes: for direct messages and for large channels, DirtyBytes equals the size of the
// next cut, or up to three times that, because a channel record of one message is small.
func TestDirtyBytes(t *testing.T) {
	for _, c := range []struct{ channels, members int }{{1000, 2}, {20, 64}, {20, 640}} {
		p := mustOpen(t, vfs.NewMem(), testIdentity())
		id := func(kind string, i int) []byte { return fmt.Appendf(nil, "%s-%08d", kind, i) }
		var offset [2]int64
		post := func(m events.Message) {
			p.rules.FoldMessage(&m, offset[0], offset[0])
			offset[0]++
		}
		for ch := range c.channels {
			m := events.Message{Kind: events.KindMembersJoined, ChannelID: id("channel", ch), OccurredAt: 1}
			for u := range c.members {
				m.IDs = append(m.IDs, id("user", ch+u))
			}
			post(m)
		}
		mustCut(t, p)
		for ch := range c.channels {
			post(events.Message{Kind: events.KindMessagePosted, ChannelID: id("channel", ch), MessageID: id("message", ch), SenderID: id("user", ch), OccurredAt: 2})
			for u := range c.members {
				p.rules.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: id("channel", ch), UserID: id("user", ch+u), OccurredAt: 3,
					Target: events.TargetSeq, Seq: 1}, offset[1], 3)
				offset[1]++
			}
		}
		p.Drain(nil, true)
		reported := p.DirtyBytes()
		cut, err := p.Cut()
		if err != nil {
			t.Fatal(err)
		}
		if wrote := int64(cut.Bytes); reported < wrote || reported > 3*wrote {
			t.Errorf("%d channels of %d: %d bytes are said to be dirty, and the cut has %d", c.channels, c.members, reported, wrote)
		}
		if err := errors.Join(cut.Apply(), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRareCut: the limit of dirty bytes of a silent partition grows with its state, by a share of
// it and up to a limit.
func TestRareCut(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	before := p.rules.RareCut()
	const pairs = 1000
	m := events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("c"), OccurredAt: 1}
	for i := range pairs {
		m.IDs = append(m.IDs, fmt.Appendf(nil, "user%d", i))
	}
	p.rules.FoldMessage(&m, 0, 1)
	if grown := p.rules.RareCut() - before; grown < pairs*64*2/5 || grown > p.Stats().HotBytes/2 {
		t.Errorf("%d pairs, %d bytes of hot state, let %d more bytes be dirty", pairs, p.Stats().HotBytes, grown)
	}
	if got := state.RareCut(1 << 40); got != 256<<20 {
		t.Errorf("with a state of 1 TiB %d bytes may be dirty", got)
	}
}
