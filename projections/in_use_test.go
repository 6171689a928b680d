package projections

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/loading"
)

// TestNothingIsInUseOnceAllChannelsLeft: memory that stays when channels leave does not count as
// memory of channels, whatever the length of ids. Otherwise the partition would be crowded forever.
func TestNothingIsInUseOnceAllChannelsLeft(t *testing.T) {
	for _, long := range []int{0, 30, 300, 3000} {
		limit := int64(0)
		p, err := Open("store", Identity{ClusterID: "c", Partitions: 1, Settings: DefaultSettings()}, Options{FS: vfs.NewMem(), Memory: func() int64 { return limit }})
		if err != nil {
			t.Fatal(err)
		}
		id := func(kind string, i int) []byte { return fmt.Appendf(nil, "%s%d%s", kind, i, strings.Repeat("x", long)) }
		for i := range 300 {
			at := p.rules.Positions[events.Messages]
			p.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: id("c", i), IDs: [][]byte{id("u", i), id("u", i+1)}, OccurredAt: 1}, at, 1)
			p.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: id("c", i), MessageID: id("m", i), SenderID: id("u", i), OccurredAt: 1}, at+1, 1)
		}
		if used := loading.InUse(&p.rules.State); used < 300*500 {
			t.Errorf("%d bytes are in use with all channels in memory", used)
		}
		p.Drain(nil, true)
		const whole = 1 << 30
		if limit = whole; p.hotLimit() != whole-loading.Fixed(&p.rules.State) {
			t.Errorf("with all channels in memory they may take %d of %d bytes", p.hotLimit(), whole)
		}
		limit = 1
		for range 2 {
			mustCut(t, p)
		}
		if used := loading.InUse(&p.rules.State); used != 0 || p.Stats().ColdChannels != 300 || p.Crowded() != 0 {
			t.Errorf("ids with %d more bytes: %d bytes are in use with %d of 300 channels cold", long, used, p.Stats().ColdChannels)
		}
		if limit = whole; p.hotLimit() != whole-whole/comeAndGo-loading.Fixed(&p.rules.State) { // cold channels leave room for garbage
			t.Errorf("with cold channels, those in memory may take %d of %d bytes", p.hotLimit(), whole)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
