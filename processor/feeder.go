package processor

import (
	"context"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// feeder fetches for standbys, with a client that belongs to no group.
//
// What is begun and ended is begun and ended between two polls, by the goroutine that polls: what it hands over after
// the end of one worker's fetching and the beginning of another's, for the same partition, is of the other's. Else records
// that were fetched for the first could reach the second, which is at another position, and look like a gap in the log.
type feeder struct {
	client *kgo.Client
	inputs [events.NumInputs]string

	mu        sync.Mutex
	commands  []func()
	interrupt context.CancelFunc // of the poll that is under way

	fed map[int32]*worker // of the goroutine of run
}

func newFeeder(client *kgo.Client, inputs [events.NumInputs]string) *feeder {
	return &feeder{client: client, inputs: inputs, fed: map[int32]*worker{}}
}

// feed fetches for a worker, from a position on.
func (f *feeder) feed(w *worker, from projections.Position) {
	f.do(func() {
		f.client.ResumeFetchPartitions(f.partitions(w.number)) // pauses outlive the last time
		offsets := map[string]map[int32]kgo.Offset{}
		for i, topic := range f.inputs {
			offsets[topic] = map[int32]kgo.Offset{w.number: kgo.NewOffset().At(from[i]).WithEpoch(-1)}
		}
		f.client.AddConsumePartitions(offsets)
		f.fed[w.number] = w
	})
}

// leave ends the fetching for a worker.
func (f *feeder) leave(w *worker) {
	f.do(func() {
		if f.fed[w.number] == w {
			delete(f.fed, w.number)
			f.client.RemoveConsumePartitions(f.partitions(w.number))
		}
	})
}

func (f *feeder) do(command func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, command)
	if f.interrupt != nil {
		f.interrupt()
	}
}

// partitions are the inputs of partition n as the client names them.
func (f *feeder) partitions(n int32) map[string][]int32 {
	all := map[string][]int32{}
	for _, topic := range f.inputs {
		all[topic] = []int32{n}
	}
	return all
}

// run hands over what is fetched until ctx is done.
func (f *feeder) run(ctx context.Context, deliver func(*worker, events.Input, *kgo.FetchPartition), pause func(context.Context)) {
	for ctx.Err() == nil {
		polling, cancel := context.WithCancel(ctx)
		f.mu.Lock()
		commands := f.commands
		f.commands, f.interrupt = nil, cancel
		f.mu.Unlock()
		for _, command := range commands {
			command()
		}
		fetches := f.client.PollFetches(polling)
		cancel()
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachTopic(func(t kgo.FetchTopic) {
			in := slices.Index(f.inputs[:], t.Topic)
			if in < 0 {
				return // the interruption
			}
			for i := range t.Partitions {
				if w := f.fed[t.Partitions[i].Partition]; w != nil {
					deliver(w, events.Input(in), &t.Partitions[i])
				}
			}
		})
		pause(ctx)
	}
}
