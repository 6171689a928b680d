package processor

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/testkit"
	"github.com/tidemark/tidemark/projections"
)

// TestFeederNeverMixesWorkersUp: one worker of a partition after the other is fed, each from another position, at any
// moment. What each gets begins where it was to begin and has no gaps.
func TestFeederNeverMixesWorkersUp(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	tr := newTraffic(s, rand.Uint64(), 5)
	tr.run(400)
	end := s.ends()[0][events.Messages]
	f := newFeeder(testkit.Client(t, s.brokers, kgo.ConsumeResetOffset(kgo.NoResetOffset())), s.names().Inputs)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	type fed struct {
		next    int64 // of the goroutine that delivers
		reached atomic.Int64
	}
	workers := map[*worker]*fed{}
	for range 40 {
		from := rand.Int64N(end)
		workers[&worker{}] = &fed{next: from}
	}
	go func() {
		defer close(ended)
		f.run(ctx, func(w *worker, in events.Input, p *kgo.FetchPartition) {
			d := workers[w]
			for _, r := range p.Records {
				if in == events.Messages {
					if r.Offset != d.next {
						t.Errorf("offset %d comes where %d is next", r.Offset, d.next)
					}
					d.next = r.Offset + 1
				}
			}
			d.reached.Store(d.next)
		}, func(context.Context) {})
	}()
	i := 0
	for w, d := range workers {
		f.feed(w, projections.Position{d.next, 0, 0})
		if i++; i%2 == 0 || i == len(workers) {
			until(t, "a worker gets all", func() bool { return d.reached.Load() == end })
		}
		f.leave(w)
	}
}
