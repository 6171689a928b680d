package processor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// committer commits what the partitions have published, all in one request and one request at a time. A group offset
// says up to where the outputs are written, for whoever opens the partition next and for tools that show a lag; the
// truth about the state is in the stores.
type committer struct {
	commit  func(context.Context, map[string]map[int32]kgo.EpochOffset) error
	topics  [events.NumInputs]string
	every   time.Duration
	log     *slog.Logger
	metrics *metrics
	now     func() time.Time

	// sending is held from the taking of what is committed to the answer, so that nothing taken before a partition is
	// given away is sent after that.
	sending sync.Mutex

	mu      sync.Mutex
	pending map[int32]projections.Position
	floor   map[int32]projections.Position // what the group has, by owned partition
	wake    chan struct{}
}

// own says that a partition was assigned and what the group has committed of it. Nothing below that will be committed.
func (c *committer) own(partition int32, committed projections.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.floor[partition] = committed
}

// note takes a position that is published.
func (c *committer) note(partition int32, position projections.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	floor, owned := c.floor[partition]
	if !owned || position == floor {
		return
	}
	for i := range position {
		if position[i] < floor[i] {
			return
		}
	}
	c.pending[partition] = position
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// forget drops partitions that were lost: what was published of them is for their new owners to commit.
func (c *committer) forget(partitions []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range partitions {
		delete(c.pending, p)
		delete(c.floor, p)
	}
}

// run commits until ctx is done.
func (c *committer) run(ctx context.Context) {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		pause := c.every
		if err := c.send(ctx, nil); err != nil && ctx.Err() == nil {
			c.log.Warn("offsets are not committed yet", "err", err)
			pause = max(pause, time.Second)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// flush commits what is pending of partitions that are being given away, and drops them.
func (c *committer) flush(ctx context.Context, partitions []int32) error {
	defer c.forget(partitions)
	return c.send(ctx, partitions)
}

// send commits what is pending, of all partitions or of some. What was not committed is pending again.
func (c *committer) send(ctx context.Context, only []int32) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	taken := c.take(only)
	if len(taken) == 0 {
		return nil
	}
	offsets := make(map[string]map[int32]kgo.EpochOffset, len(c.topics))
	for i, topic := range c.topics {
		offsets[topic] = make(map[int32]kgo.EpochOffset, len(taken))
		for p, position := range taken {
			offsets[topic][p] = kgo.EpochOffset{Epoch: -1, Offset: position[i]}
		}
	}
	began := c.now()
	err := c.commit(ctx, offsets)
	c.metrics.phase(phaseCommit, c.now().Sub(began))
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, position := range taken {
		if _, owned := c.floor[p]; !owned {
			continue
		}
		if err == nil {
			c.floor[p] = position
			continue
		}
		if _, newer := c.pending[p]; !newer {
			c.pending[p] = position
		}
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *committer) take(only []int32) map[int32]projections.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	if only == nil {
		taken := c.pending
		c.pending = map[int32]projections.Position{}
		return taken
	}
	taken := map[int32]projections.Position{}
	for _, p := range only {
		if position, ok := c.pending[p]; ok {
			taken[p] = position
			delete(c.pending, p)
		}
	}
	return taken
}

// commitSync is the commit of a group consumer, waiting for the answer and looking at every partition's.
func commitSync(client *kgo.Client) func(context.Context, map[string]map[int32]kgo.EpochOffset) error {
	return func(ctx context.Context, offsets map[string]map[int32]kgo.EpochOffset) error {
		var failed error
		client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if failed = err; err != nil {
				return
			}
			var errs []error
			for _, t := range resp.Topics {
				for _, p := range t.Partitions {
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						errs = append(errs, fmt.Errorf("commit %s/%d: %w", t.Topic, p.Partition, err))
					}
				}
			}
			failed = errors.Join(errs...)
		})
		return failed
	}
}
