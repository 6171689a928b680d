package compare

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
)

// lookEvery is how often the node's position is read while it cannot answer.
const lookEvery = time.Second

// waiting waits for a node that has not folded all records of the topics: as long as its position
// advances, and a while longer.
type waiting struct {
	positions func(context.Context) ([]string, error)
	patience  time.Duration
	progress  func(importer.Progress)
	targets   map[events.RecordID]int64 // what has to be folded: the last offset, by partition

	mu       sync.Mutex
	looked   time.Time
	advanced time.Time // when the position was last seen to advance, or the waiting began
	folded   map[events.RecordID]int64
	first    int64 // how much was folded at the first look
	done     int64
}

// newWaiting returns a waiting for the tokens of after.
func (c *Config) newWaiting(after []string) *waiting {
	w := &waiting{positions: c.Position, patience: c.Patience, progress: c.Progress, targets: map[events.RecordID]int64{}, folded: map[events.RecordID]int64{}}
	for _, token := range after {
		if id, err := events.ParseRecordID(token); err == nil {
			w.targets[events.RecordID{Topic: id.Topic, Partition: id.Partition}] = id.Offset
		}
	}
	return w
}

// wait returns an error if the node has stood still for too long. why is its answer to a call.
func (w *waiting) wait(ctx context.Context, why error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.looked) >= min(lookEvery, w.patience/4) {
		if w.looked.IsZero() {
			w.advanced = now
		}
		w.look(ctx, now)
	}
	left := w.total() - w.done
	switch still := time.Since(w.advanced); {
	case still >= w.patience && left == 0:
		return fmt.Errorf("the node has folded all records of the topics, and has not answered for %v since: --stall sets how long to wait: %w", w.patience, why)
	case still >= w.patience:
		return fmt.Errorf("the node has folded nothing more for %v, and %d of %d records of the topics are missing: see in its log or on its page why it stands still; "+
			"--stall sets how long to wait: %w", w.patience, left, w.total(), why)
	}
	return nil
}

// look reads the position. Only what the comparison waits for counts: other partitions may go on
// while the one that matters stands still. A partition that the node cannot tell stays where it
// was.
func (w *waiting) look(ctx context.Context, now time.Time) {
	begun := w.looked.IsZero()
	w.looked = now
	tokens, err := w.positions(ctx)
	if err != nil {
		return
	}
	for _, token := range tokens {
		id, err := events.ParseRecordID(token)
		at := events.RecordID{Topic: id.Topic, Partition: id.Partition}
		if last, wanted := w.targets[at]; err == nil && wanted {
			w.folded[at] = max(w.folded[at], min(id.Offset, last)+1)
		}
	}
	done := int64(0)
	for _, n := range w.folded {
		done += n
	}
	if begun {
		w.first = done
	}
	if done > w.done {
		w.done, w.advanced = done, now
	}
	w.progress(importer.Progress{Phase: "waiting for the node to fold the topics", Done: w.done - w.first, Total: w.total() - w.first})
}

func (w *waiting) total() (n int64) {
	for _, last := range w.targets {
		n += last + 1
	}
	return n
}
