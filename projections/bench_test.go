package projections_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// BenchmarkFold measures an event from the fold to its deltas: posts, replies, mentions and reads
// in channels of 20 members, drained after every 256 events as the processor does. It makes no
// cuts.
func BenchmarkFold(b *testing.B) {
	const channels, members, batch = 500, 20, 256
	p := open(b, vfs.NewMem(), projections.DefaultSettings())
	b.Cleanup(func() { closePartition(b, p) })
	rng := rand.New(rand.NewPCG(7, 7))
	var m, r int64
	now := int64(1_790_000_000_000)
	id := func(kind string, n int) []byte { return fmt.Appendf(nil, "%s-%06d", kind, n) }
	for ch := range channels {
		e := &events.Message{Kind: events.KindMembersJoined, ChannelID: id("channel", ch), OccurredAt: now}
		for range members {
			e.IDs = append(e.IDs, id("user", rng.IntN(2000)))
		}
		p.FoldMessage(e, m, now)
		m++
	}
	posts := make([]int, channels)
	messages, reads := make([]*events.Message, 0, batch), make([]*events.Read, 0, batch)
	var d projections.Deltas
	p.Drain(&d, true)
	cut := func() {
		k, err := p.Cut()
		if err == nil {
			err = k.Apply()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%batch != 0 {
			continue // a batch is folded at once
		}
		b.StopTimer()
		if n%(256*batch) == 0 {
			d.Reset()
			cut()
		}
		messages, reads = messages[:0], reads[:0]
		for range batch {
			now += 3
			ch := rng.IntN(channels)
			user := id("user", rng.IntN(2000))
			if rng.IntN(2) == 0 {
				reads = append(reads, &events.Read{Kind: events.KindReadUpTo, ChannelID: id("channel", ch), UserID: user,
					OccurredAt: now, Target: events.TargetMessageID, MessageID: fmt.Appendf(nil, "m%04d%06d", ch, max(0, posts[ch]-rng.IntN(3)))})
				continue
			}
			posts[ch]++
			e := &events.Message{Kind: events.KindMessagePosted, ChannelID: id("channel", ch), SenderID: user, OccurredAt: now,
				MessageID: fmt.Appendf(nil, "m%04d%06d", ch, posts[ch]), Preview: []byte("what is said in a message of usual length")}
			if rng.IntN(10) == 0 {
				e.IDs = [][]byte{id("user", rng.IntN(2000))}
			}
			if rng.IntN(10) == 0 {
				e.ThreadID = fmt.Appendf(nil, "m%04d%06d", ch, posts[ch]/50*50)
			}
			messages = append(messages, e)
		}
		b.StartTimer()
		p.Warm(messages, reads)
		for _, e := range messages {
			p.FoldMessage(e, m, now)
			m++
		}
		for _, e := range reads {
			p.FoldRead(e, r, now)
			r++
		}
		d.Reset()
		p.Drain(&d, true)
	}
}
