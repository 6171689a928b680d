package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// BenchmarkWithThreads measures a read of a channel with its threads by a user who follows 10,000
// of them, one of which has something new.
func BenchmarkWithThreads(b *testing.B) {
	const threads = 10_000
	p := mustOpen(b, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob")
	for i := range threads {
		f.post("c", fmt.Sprintf("root%05d", i), "ann", "")
		f.post("c", fmt.Sprintf("reply%05d", i), "bob", fmt.Sprintf("root%05d", i))
	}
	seq := uint32(2 * threads)
	read := func() {
		f.setting("c", "ann", events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: seq, WithThreads: true})
	}
	read()
	p.Drain(nil, true)
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		f.post("c", fmt.Sprintf("more%d", n), "bob", fmt.Sprintf("root%05d", n%threads))
		p.Drain(nil, true)
		seq++
		b.StartTimer()
		read()
		p.Drain(nil, true)
	}
}
