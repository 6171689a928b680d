package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// TestRareCut: what may be dirty of a silent partition grows with its state, by a share of it and
// up to a limit.
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
	if grown := p.rules.RareCut() - before; grown < pairs*128/4 || grown > p.Stats().HotBytes/2 {
		t.Errorf("%d pairs, %d bytes of hot state, let %d more bytes be dirty", pairs, p.Stats().HotBytes, grown)
	}
	if got := state.RareCut(1 << 40); got != 256<<20 {
		t.Errorf("with a state of 1 TiB %d bytes may be dirty", got)
	}
}
