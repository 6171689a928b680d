package sink

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
)

// Offsets are offsets of a group, by topic and partition.
type Offsets map[string]map[int32]kgo.EpochOffset

// Add sets the offset of a partition.
func (o *Offsets) Add(p Partition, offset int64) {
	if *o == nil {
		*o = Offsets{}
	}
	if (*o)[p.Topic] == nil {
		(*o)[p.Topic] = map[int32]kgo.EpochOffset{}
	}
	(*o)[p.Topic][p.Number] = kgo.EpochOffset{Epoch: -1, Offset: offset}
}

// Committer sends the offsets of a group at intervals. Only lag monitors need them, so the next
// commit replaces a failed one. It belongs to one goroutine.
type Committer struct {
	Every  time.Duration
	Behind func() Offsets // offsets that the group does not have yet; they count as sent
	last   time.Time
}

// Commit sends the offsets that the group does not have, once Every has passed since the last
// commit.
func (c *Committer) Commit(ctx context.Context, cl *kgo.Client) {
	if time.Since(c.last) < c.Every {
		return
	}
	c.last = time.Now()
	if offsets := c.Behind(); offsets != nil {
		cl.CommitOffsets(ctx, offsets, nil)
	}
}

// Last sends the offsets that the group does not have, and waits for at most 2 s, because the
// client's own call ignores its context while an earlier commit is in progress. onPanic gets a
// panic of that call.
func (c *Committer) Last(cl *kgo.Client, onPanic func(*guard.Error)) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if offsets := c.Behind(); offsets != nil {
		guard.Within(patience, "the last commit of a group", onPanic, func() { cl.CommitOffsetsSync(ctx, offsets, nil) })
	}
}
