package projections

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections/internal/arena"
)

// TestHotBytesIsWhatTheHeapSays: for each kind of state, the metric grows as the heap does, within
// a tenth. Operators size nodes by this metric.
func TestHotBytesIsWhatTheHeapSays(t *testing.T) {
	if testkit.RaceDetector {
		t.Skip("one goroutine fills a heap that is measured: the run without the race detector says it all")
	}
	users := func(prefix string, n int) (ids [][]byte) {
		for i := range n {
			ids = append(ids, fmt.Appendf(nil, "%s-user-%d", prefix, i))
		}
		return ids
	}
	join := func(p *Partition, ch []byte, ids [][]byte) {
		p.rules.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: ch, OccurredAt: 1, IDs: ids}, p.rules.Positions[events.Messages], 1)
	}
	post := func(p *Partition, m *events.Message) {
		m.Kind, m.OccurredAt = events.KindMessagePosted, 1
		p.rules.FoldMessage(m, p.rules.Positions[events.Messages], 1)
	}
	read := func(p *Partition, r *events.Read) {
		r.OccurredAt = 1
		p.rules.FoldRead(r, p.rules.Positions[events.Reads], 1)
	}
	crowd := users("member", 20)
	receipt := func(p *Partition, i int) {
		ch := fmt.Appendf(nil, "read-%d", i/20/8)
		if i%(20*8) == 0 {
			join(p, ch, crowd)
			for k := range 8 {
				post(p, &events.Message{ChannelID: ch, MessageID: fmt.Appendf(nil, "m%d", k), SenderID: []byte("bot")})
			}
		}
		read(p, &events.Read{Kind: events.KindReadUpTo, ChannelID: ch, UserID: crowd[i%20], Target: events.TargetMessageID, MessageID: fmt.Appendf(nil, "m%d", i/20%8)})
	}
	var writing *Cut // not applied: its batch and its records are in memory
	cutNow := func(p *Partition) {
		p.Drain(nil, true)
		var err error
		if writing, err = p.Cut(); err != nil {
			t.Fatal(err)
		}
	}
	kinds := map[string]struct {
		n    int
		fill func(p *Partition, i int)
	}{
		"channels of 20": {20_000, func(p *Partition, i int) { join(p, fmt.Appendf(nil, "channel-%d", i), crowd) }},
		"one channel of many": {300_000, func(p *Partition, i int) {
			join(p, []byte("crowd"), [][]byte{fmt.Appendf(nil, "someone-%d", i)})
		}},
		"pairs of two": {100_000, func(p *Partition, i int) {
			join(p, fmt.Appendf(nil, "dm-%d", i), [][]byte{fmt.Appendf(nil, "u%d", i%1000), fmt.Appendf(nil, "u%d", i/1000)})
		}},
		"threads": {30_000, func(p *Partition, i int) {
			if i == 0 {
				join(p, []byte("general"), crowd)
			}
			root := fmt.Appendf(nil, "root-%d", i)
			post(p, &events.Message{ChannelID: []byte("general"), MessageID: root, SenderID: crowd[i%20]})
			for k := range 3 {
				post(p, &events.Message{ChannelID: []byte("general"), MessageID: fmt.Appendf(nil, "r%d-%d", i, k), SenderID: crowd[(i+k+1)%20], ThreadID: root})
			}
		}},
		"reads of channels that nobody knows": {50_000, func(p *Partition, i int) {
			read(p, &events.Read{Kind: events.KindReadUpTo, ChannelID: fmt.Appendf(nil, "unknown-%d", i), UserID: crowd[i%20],
				Target: events.TargetMessageID, MessageID: fmt.Appendf(nil, "message-%d", i)})
		}},
		"single reads": {60_000, func(p *Partition, i int) {
			ch := fmt.Appendf(nil, "single-%d", i/20)
			if i%20 == 0 {
				join(p, ch, crowd)
				for k := range 8 {
					post(p, &events.Message{ChannelID: ch, MessageID: fmt.Appendf(nil, "m%d", k), SenderID: []byte("bot")})
				}
			}
			read(p, &events.Read{Kind: events.KindMessagesRead, ChannelID: ch, UserID: crowd[i%20], IDs: [][]byte{[]byte("m3"), []byte("m5"), []byte("m6")}})
		}},
		"what users say of channels": {60_000, func(p *Partition, i int) {
			ch := fmt.Appendf(nil, "said-%d", i/20)
			if i%20 == 0 {
				join(p, ch, crowd)
				post(p, &events.Message{ChannelID: ch, MessageID: []byte("m"), SenderID: []byte("bot")})
			}
			for _, r := range []events.Read{
				{Kind: events.KindLabelsSet, IDs: [][]byte{[]byte("work"), []byte("a long label of a user")}},
				{Kind: events.KindNotifySet, Level: events.LevelMentions, Until: 1 << 40},
				{Kind: events.KindLineSet, Target: events.TargetMessageID, MessageID: fmt.Appendf(nil, "a message with a long id %d", i)},
				{Kind: events.KindChannelFiled, Archived: true, Keep: true},
			} {
				r.ChannelID, r.UserID = ch, crowd[i%20]
				read(p, &r)
			}
		}},
		"labels of channels": {60_000, func(p *Partition, i int) {
			p.rules.FoldMessage(&events.Message{Kind: events.KindChannelUpdated, ChannelID: fmt.Appendf(nil, "labelled-%d", i), OccurredAt: 1,
				IDs: [][]byte{[]byte("work"), []byte("a long label of a channel")}}, p.rules.Positions[events.Messages], 1)
		}},
		"hidden messages": {60_000, func(p *Partition, i int) {
			ch := fmt.Appendf(nil, "hidden-%d", i/20)
			if i%20 == 0 {
				join(p, ch, crowd)
				for k := range 8 {
					post(p, &events.Message{ChannelID: ch, MessageID: fmt.Appendf(nil, "m%d", k), SenderID: []byte("bot"), HiddenFrom: crowd})
				}
			}
			read(p, &events.Read{Kind: events.KindMessagesHidden, ChannelID: ch, UserID: crowd[i%20], IDs: [][]byte{[]byte("m3"), []byte("m5")}})
		}},
		"mentions": {30_000, func(p *Partition, i int) {
			if i%10 == 0 {
				join(p, fmt.Appendf(nil, "named-%d", i/10), crowd)
			}
			post(p, &events.Message{ChannelID: fmt.Appendf(nil, "named-%d", i/10), MessageID: fmt.Appendf(nil, "m%d", i), SenderID: []byte("bot"), IDs: crowd})
		}},
		"queued messages": {200_000, func(p *Partition, i int) {
			ch := fmt.Appendf(nil, "queued-%d", i/200)
			if i%200 == 0 {
				join(p, ch, crowd)
			}
			if i%20 == 0 {
				post(p, &events.Message{ChannelID: ch, MessageID: fmt.Appendf(nil, "m%d", i/20), SenderID: []byte("bot")})
			}
			p.rules.FoldDelivery(&events.Delivery{Kind: events.KindQueued, OccurredAt: 1, ChannelID: ch, UserID: crowd[i%20], MessageID: fmt.Appendf(nil, "m%d", i/20)},
				p.rules.Positions[events.Deliveries], 1)
		}},
		"reads to a time to come": {60_000, func(p *Partition, i int) {
			ch := fmt.Appendf(nil, "timed-%d", i/20)
			if i%20 == 0 {
				join(p, ch, crowd)
				post(p, &events.Message{ChannelID: ch, MessageID: []byte("m"), SenderID: []byte("bot")})
			}
			read(p, &events.Read{Kind: events.KindReadUpTo, ChannelID: ch, UserID: crowd[i%20], Target: events.TargetTime, TargetTime: 200_000})
		}},
		"reads with their threads": {60_000, func(p *Partition, i int) {
			ch := fmt.Appendf(nil, "all-%d", i/20)
			if i%20 == 0 {
				join(p, ch, crowd)
				for k := range 4 {
					post(p, &events.Message{ChannelID: ch, MessageID: fmt.Appendf(nil, "m%d", k), SenderID: crowd[k]})
					post(p, &events.Message{ChannelID: ch, MessageID: fmt.Appendf(nil, "r%d", k), SenderID: crowd[k+1], ThreadID: fmt.Appendf(nil, "m%d", k)})
				}
			}
			read(p, &events.Read{Kind: events.KindReadUpTo, ChannelID: ch, UserID: crowd[i%20], Target: events.TargetMessageID, MessageID: []byte("m3"), WithThreads: true})
		}},
		"views of messages": {60_000, func(p *Partition, i int) {
			ch := fmt.Appendf(nil, "viewed-%d", i/20)
			if i%20 == 0 {
				join(p, ch, crowd)
				for k := range 8 {
					post(p, &events.Message{ChannelID: ch, MessageID: fmt.Appendf(nil, "m%d", k), SenderID: []byte("bot")})
				}
			}
			read(p, &events.Read{Kind: events.KindMessagesViewed, ChannelID: ch, UserID: crowd[i%20], IDs: [][]byte{[]byte("m3"), []byte("m5"), []byte("m6")}})
		}},
		"receipts": {300_000, receipt},
		"receipts that a cut is writing": {300_000, func(p *Partition, i int) {
			if receipt(p, i); i == 299_999 {
				cutNow(p)
			}
		}},
		"channels that a cut is writing": {60_000, func(p *Partition, i int) {
			join(p, fmt.Appendf(nil, "cut-%d", i), crowd[:2])
			if i == 59_999 {
				cutNow(p)
			}
		}},
		"long ids": {30_000, func(p *Partition, i int) {
			join(p, fmt.Appendf(nil, "%0200d", i), [][]byte{fmt.Appendf(nil, "%0250d", i)})
		}},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			p := mustOpen(t, vfs.NewMem(), testIdentity())
			defer p.Close()
			p.rules.Replaying = true
			heap := func() int64 {
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			before, reported := heap(), p.Stats().HotBytes
			for i := range kind.n {
				kind.fill(p, i)
			}
			listed := arena.ListBytes(p.rules.OutRows) // what the metric leaves out is small on a node, which drains all the time
			grown, reported := heap()-before-listed, p.Stats().HotBytes-reported
			ratio := float64(reported) / float64(grown)
			t.Logf("%.1f MiB in the heap, %.1f MiB said: %.2f", float64(grown)/(1<<20), float64(reported)/(1<<20), ratio)
			if grown < 8<<20 {
				t.Fatal("too little to judge by")
			}
			if ratio < 0.9 || ratio > 1.1 {
				t.Errorf("the heap grew by %d bytes, the metric by %d", grown, reported)
			}
			runtime.KeepAlive(p)
			runtime.KeepAlive(writing)
			writing = nil
		})
	}
}
