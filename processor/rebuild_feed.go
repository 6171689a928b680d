package processor

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// rebuildClients is how many clients fetch for a rebuild. Answers come one after the other on a client's connection to a
// broker, and where its consumer fetches it makes records of all that is in one before it hands any over: with two, some
// partitions fold while others are fetched; more were no faster.
const rebuildClients = 2

// rebuildFetchWait is how long a fetch that finds nothing is held by a broker. An input that is resumed waits for the
// fetch under way, and of a rebuild's inputs some are at their ends while others are paused: with the wait of a live
// node most of a rebuild would be waiting.
const rebuildFetchWait = 10 * time.Millisecond

// rebuildFetchBytes is how much of one input a fetch brings, in bytes as they are on the wire. While all processors fold, what
// a broker has sent is noticed some 10 ms late: what came before must last that long, and a megabyte, the client's default,
// does not always.
const rebuildFetchBytes = 2 << 20

// rebuildFeeders are those of a rebuild: partitions are spread over them.
func (p *Processor) rebuildFeeders() (list []*feeder, err error) {
	for i := range rebuildClients {
		id := kgo.ClientID("tidemark-rebuild-" + strconv.Itoa(i))
		client, err := kgo.NewClient(append(p.tailOptions(), id, kgo.FetchMaxWait(rebuildFetchWait), kgo.FetchMaxPartitionBytes(p.cfg.rebuildFetch))...)
		if err != nil {
			closeFeeders(list)
			return nil, err
		}
		list = append(list, newFeeder(client, p.cfg.Topics.Inputs))
	}
	return list, nil
}

func closeFeeders(list []*feeder) {
	for _, f := range list {
		f.client.Close()
	}
}

// breathe delays f's next poll while more is fetched than its partitions can fold. Only f's own goroutine calls it.
func (r *rebuild) breathe(ctx context.Context, f *feeder) {
	queued := func() (n int64) {
		for _, w := range f.fed {
			n += w.inbox.queued()
		}
		return n
	}
	breathe(ctx, max(r.p.cfg.QueueBytes/int64(len(r.feeders)), 1), queued, func() bool {
		for _, w := range f.fed {
			if w.hungry.Load() || isDone(w.done) {
				return true
			}
		}
		return false
	})
}
