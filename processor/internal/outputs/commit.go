package outputs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections"
)

// Committer commits the offsets of published changes, for all partitions in one request, and one
// request at a time. A group offset shows the next owner, and tools that show a lag, how far the
// outputs are written. The stores have the state itself.
type Committer struct {
	Commits

	// sending holds one token from take to the answer, so that offsets taken before a partition is
	// given away are not sent afterwards. It is a channel, because waiting for a mutex cannot end
	// with a context.
	sending chan struct{}

	mu      sync.Mutex
	pending map[int32]projections.Position
	floor   map[int32]projections.Position // the group's offsets, by owned partition
	wake    chan struct{}
	naming  chan struct{} // the group must get the producer's id: nothing is published before
}

// Commits configure a Committer.
type Commits struct {
	// Commit commits offsets, with a metadata text for each partition.
	Commit func(ctx context.Context, offsets map[string]map[int32]kgo.EpochOffset, texts map[int32]string) error
	Roster *Roster
	Topics [events.NumInputs]string
	Every  time.Duration
	Log    *slog.Logger
	Took   func(time.Duration)   // called with the duration of each commit
	Moved  func(partition int32) // called when a partition's offsets are committed; may be nil
	Now    func() time.Time
}

// NewCommitter creates a committer that owns no partition yet.
func NewCommitter(c Commits) *Committer {
	return &Committer{
		Commits: c, wake: make(chan struct{}, 1), naming: make(chan struct{}, 1), sending: make(chan struct{}, 1),
		pending: map[int32]projections.Position{}, floor: map[int32]projections.Position{},
	}
}

// None stands for the committed offset of an input for which the group has none.
const None = -1

// Own adds an assigned partition with its committed offsets. The committer commits no lower
// offsets.
func (c *Committer) Own(partition int32, committed projections.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.floor[partition] = committed
	c.Hurry()
}

// Hurry makes Run commit now, without waiting for CommitEvery.
func (c *Committer) Hurry() {
	select {
	case c.naming <- struct{}{}:
	default:
	}
	c.poke()
}

// poke makes Run check whether there is something to commit.
func (c *Committer) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Note sets a published position.
func (c *Committer) Note(partition int32, position projections.Position) {
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
	c.poke()
}

// Committed returns the group's offsets of an owned partition, or None for another one.
func (c *Committer) Committed(partition int32) projections.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	if floor, owned := c.floor[partition]; owned {
		return floor
	}
	return projections.Position{None, None, None}
}

// Forget drops lost partitions. Their new owners commit what was published.
func (c *Committer) Forget(partitions []int32) {
	c.Roster.drop(partitions)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range partitions {
		delete(c.pending, p)
		delete(c.floor, p)
	}
}

// Run commits until ctx is done.
func (c *Committer) Run(ctx context.Context) {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		pause := c.Every
		if err := c.sendAll(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("offsets are not committed yet", "err", err)
			pause = max(pause, time.Second)
		}
		select {
		case <-time.After(pause):
		case <-c.naming:
			c.poke()
		case <-ctx.Done():
			return
		}
	}
}

// Flush commits the pending offsets of partitions that are being given away, with a note that the
// owner leaves cleanly, and drops the partitions. It ends when ctx does, even if an earlier commit
// hangs: that commit belongs to this generation of the group, and the brokers refuse it in the
// next.
func (c *Committer) Flush(ctx context.Context, partitions []int32) error {
	defer c.Forget(partitions)
	return c.Send(ctx, partitions)
}

// commitTimeout limits a commit that no caller waits for. After it, a new commit sends the offsets
// pending by then.
const commitTimeout = 10 * time.Second

func (c *Committer) sendAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	return c.Send(ctx, nil)
}

// errNotSent is the outcome of a commit that a panic prevented.
var errNotSent = errors.New("a commit was not sent")

// Send commits the pending offsets of all partitions or of some. Offsets that could not be
// committed are pending again.
func (c *Committer) Send(ctx context.Context, leaving []int32) (err error) {
	select {
	case c.sending <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("an earlier commit has no answer yet: %w", context.Cause(ctx))
	}
	sent := false // the client has the request: answer settles it and gives the token back
	defer func() {
		if !sent {
			<-c.sending
		}
	}()
	taken := c.take(leaving)
	if len(taken) == 0 {
		return nil
	}
	defer func() {
		if !sent {
			c.settle(taken, errNotSent)
		}
	}()
	numbers := slices.Sorted(maps.Keys(taken))
	texts, self := c.Roster.texts(numbers, leaving != nil)
	offsets := make(map[string]map[int32]kgo.EpochOffset, len(c.Topics))
	for i, topic := range c.Topics {
		for p, position := range taken {
			if position[i] < 0 {
				continue
			}
			if offsets[topic] == nil {
				offsets[topic] = make(map[int32]kgo.EpochOffset, len(taken))
			}
			offsets[topic][p] = kgo.EpochOffset{Epoch: -1, Offset: position[i]}
		}
	}
	began := c.Now()
	sent = true
	err = c.answer(ctx, taken, func() error { return c.Commit(ctx, offsets, texts) })
	c.Took(c.Now().Sub(began))
	if err == nil {
		c.Roster.name(numbers, self)
	}
	return err
}

// settle records the outcome of a commit of taken offsets, and releases the callers that wait for
// it.
func (c *Committer) settle(taken map[int32]projections.Position, err error) {
	c.record(taken, err)
	if err == nil && c.Moved != nil {
		for p := range taken {
			c.Moved(p)
		}
	}
}

func (c *Committer) record(taken map[int32]projections.Position, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, position := range taken {
		floor, owned := c.floor[p]
		switch {
		case !owned:
		case err == nil:
			c.floor[p] = position
		case position == floor: // only the text was new, and it will be sent again
			c.poke()
		default:
			if _, newer := c.pending[p]; !newer {
				c.pending[p] = position
			}
			c.poke()
		}
	}
}

// answer sends a commit and returns its outcome, or ctx's error: the client ignores ctx while it
// waits for an earlier commit. The token of sending goes back when the client is done, after
// settle; otherwise the next commit could send older offsets than this one.
func (c *Committer) answer(ctx context.Context, taken map[int32]projections.Position, commit func() error) error {
	outcome := make(chan error, 1)
	var once sync.Once
	settle := func(err error) { once.Do(func() { c.settle(taken, err) }) }
	guard.Go("a commit", guard.Log(c.Log, "offsets are not committed"), func() {
		err := guard.Err("a commit", commit)
		settle(err)
		<-c.sending
		outcome <- err
	})
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		err := fmt.Errorf("a commit has no answer: %w", context.Cause(ctx))
		settle(err)
		return err
	}
}

// take removes and returns the pending offsets, and the group's own offsets of partitions whose
// text must change.
func (c *Committer) take(leaving []int32) map[int32]projections.Position {
	unnamed := c.Roster.unnamed()
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := map[int32]projections.Position{}
	if leaving == nil {
		taken, c.pending = c.pending, taken
		c.addCommitted(taken, unnamed)
		return taken
	}
	for _, p := range leaving {
		if position, ok := c.pending[p]; ok {
			taken[p] = position
			delete(c.pending, p)
		}
	}
	c.addCommitted(taken, leaving)
	return taken
}

// addCommitted adds the group's offsets of partitions. If the group has none, no text can be
// attached: the first commit of a partition is also the first to name its producer. The caller
// holds mu.
func (c *Committer) addCommitted(taken map[int32]projections.Position, partitions []int32) {
	for _, p := range partitions {
		floor, owned := c.floor[p]
		if _, ok := taken[p]; ok || !owned {
			continue
		}
		if floor == (projections.Position{None, None, None}) {
			c.Roster.name([]int32{p}, c.Roster.producer())
			continue
		}
		taken[p] = floor
	}
}
