package projections_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// TestBytesOfADirectMessage: a direct message and its read allocate little more than what they
// store, from the fold to the batch of a cut: in a small memory the collector takes the more of the
// CPU the more is allocated. A key is built in memory that is used again, because one is up to 781
// bytes long.
func TestBytesOfADirectMessage(t *testing.T) {
	if testkit.RaceDetector {
		t.Skip("the race detector makes slices grow in other steps")
	}
	const channels, rounds = 2_000, 12
	p := open(t, vfs.NewMem(), projections.DefaultSettings())
	defer closePartition(t, p)
	var m, r int64
	now := int64(1_790_000_000_000)
	id := func(kind string, n int) []byte { return fmt.Appendf(nil, "%s-%06d", kind, n) }
	for ch := range channels {
		p.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: id("channel", ch), OccurredAt: now,
			IDs: [][]byte{id("user", 2*ch), id("user", 2*ch+1)}}, m, now)
		m++
	}
	var d projections.Deltas
	var posts []*events.Message
	var reads []*events.Read
	post := func(round int) { // outside the measured part, as the decoder's memory is used again
		posts, reads = posts[:0], reads[:0]
		for ch := range channels {
			now++
			name := fmt.Appendf(nil, "m%04d%06d", rounds-round, ch) // ids that fall need the index
			posts = append(posts, &events.Message{Kind: events.KindMessagePosted, ChannelID: id("channel", ch), SenderID: id("user", 2*ch),
				OccurredAt: now, MessageID: name, Preview: []byte("what is said in a message of usual length")})
			reads = append(reads, &events.Read{Kind: events.KindReadUpTo, ChannelID: id("channel", ch), UserID: id("user", 2*ch+1),
				OccurredAt: now, Target: events.TargetMessageID, MessageID: name})
		}
	}
	least := uint64(math.MaxUint64)
	for round := range rounds {
		post(round)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range posts {
			p.FoldMessage(posts[i], m, now)
			m++
			p.FoldRead(reads[i], r, now)
			r++
		}
		d.Reset()
		p.Drain(&d, true)
		k, err := p.Cut()
		runtime.ReadMemStats(&after)
		if err == nil {
			err = k.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, (after.TotalAlloc-before.TotalAlloc)/(2*channels))
	}
	t.Logf("%d bytes an event", least)
	if least > 850 {
		t.Errorf("a direct message and its read allocate %d bytes each, want at most 850", least)
	}
}
