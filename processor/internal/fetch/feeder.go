package fetch

import (
	"context"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/projections"
)

// Feeder fetches for standbys and rebuilds, with a client that is in no group.
//
// Only the goroutine that polls starts and ends the fetching of a partition, between two polls. So
// a record that was fetched for one worker never reaches a later worker of the same partition. That
// worker is at another position and would take the record for a gap in the log.
type Feeder struct {
	Client *kgo.Client
	inputs [events.NumInputs]string

	mu        sync.Mutex
	commands  []func()
	interrupt context.CancelFunc // interrupts the poll in progress

	fed map[int32]*inbox.Inbox // only the goroutine of Run uses it
}

// NewFeeder creates a feeder for a client that consumes nothing yet.
func NewFeeder(client *kgo.Client, inputs [events.NumInputs]string) *Feeder {
	return &Feeder{Client: client, inputs: inputs, fed: map[int32]*inbox.Inbox{}}
}

// Feed starts fetching into an inbox, from a position on.
func (f *Feeder) Feed(b *inbox.Inbox, from projections.Position) {
	f.do(func() {
		f.Client.ResumeFetchPartitions(f.partitions(b.Partition)) // undo a pause from an earlier Feed
		offsets := map[string]map[int32]kgo.Offset{}
		for i, topic := range f.inputs {
			offsets[topic] = map[int32]kgo.Offset{b.Partition: kgo.NewOffset().At(from[i]).WithEpoch(-1)}
		}
		f.Client.AddConsumePartitions(offsets)
		f.fed[b.Partition] = b
	})
}

// Leave ends the fetching into an inbox.
func (f *Feeder) Leave(b *inbox.Inbox) {
	f.do(func() {
		if f.fed[b.Partition] == b {
			delete(f.fed, b.Partition)
			f.Client.RemoveConsumePartitions(f.partitions(b.Partition))
		}
	})
}

func (f *Feeder) do(command func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, command)
	if f.interrupt != nil {
		f.interrupt()
	}
}

// partitions returns the inputs of partition n in the client's form.
func (f *Feeder) partitions(n int32) map[string][]int32 {
	all := map[string][]int32{}
	for _, topic := range f.inputs {
		all[topic] = []int32{n}
	}
	return all
}

// Run delivers fetched records until ctx is done.
func (f *Feeder) Run(ctx context.Context, deliver func(*inbox.Inbox, events.Input, *kgo.FetchPartition), pause func(context.Context)) {
	for ctx.Err() == nil {
		polling, cancel := context.WithCancel(ctx)
		f.mu.Lock()
		commands := f.commands
		f.commands, f.interrupt = nil, cancel
		f.mu.Unlock()
		for _, command := range commands {
			command()
		}
		fetches := f.Client.PollFetches(polling)
		cancel()
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachTopic(func(t kgo.FetchTopic) {
			in := slices.Index(f.inputs[:], t.Topic)
			if in < 0 {
				return // do has interrupted the poll
			}
			for i := range t.Partitions {
				if b := f.fed[t.Partitions[i].Partition]; b != nil {
					deliver(b, events.Input(in), &t.Partitions[i])
				}
			}
		})
		pause(ctx)
	}
}

// Throttle delays the next poll while the inboxes that f feeds hold more than limit bytes. Only the
// goroutine of Run calls it.
func (f *Feeder) Throttle(ctx context.Context, limit int64) {
	queued := func() (n int64) {
		for _, b := range f.fed {
			n += b.Queued()
		}
		return n
	}
	Throttle(ctx, limit, queued, func() bool {
		for _, b := range f.fed {
			if b.Starved.Load() || b.Closed() {
				return true
			}
		}
		return false
	})
}
