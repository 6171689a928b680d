package fetch

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/projections"
)

// TestFeederNeverMixesWorkersUp: the feeder feeds successive workers of a partition, each from
// another position, and switches at any moment. The records of each worker begin at its position
// and have no gaps.
func TestFeederNeverMixesWorkersUp(t *testing.T) {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	inputs := inputsOf(testkit.Topics(t, brokers, 1, 1))
	const end = 500
	produced := testkit.Client(t, brokers)
	for i := range end {
		r := &kgo.Record{Topic: inputs[events.Messages], Value: []byte{byte(i)}}
		if err := produced.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	f := NewFeeder(testkit.Client(t, brokers, kgo.ConsumeResetOffset(kgo.NoResetOffset())), inputs)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	type fed struct {
		next    int64 // of the goroutine that delivers
		reached atomic.Int64
	}
	workers := map[*inbox.Inbox]*fed{}
	for range 40 {
		from := rand.Int64N(end)
		workers[&inbox.Inbox{}] = &fed{next: from}
	}
	go func() {
		defer close(ended)
		f.Run(ctx, func(w *inbox.Inbox, in events.Input, p *kgo.FetchPartition) {
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
		f.Feed(w, projections.Position{d.next, 0, 0})
		if i++; i%2 == 0 || i == len(workers) {
			testkit.Await(t, "a worker gets all", func() bool { return d.reached.Load() == end })
		}
		f.Leave(w)
	}
}

func inputsOf(topics testkit.TopicSet) (names [events.NumInputs]string) {
	for i, name := range events.InputTopics {
		names[i] = topics.Name(name)
	}
	return names
}
