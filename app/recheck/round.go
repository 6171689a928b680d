package recheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// round is the check of some channels of one partition.
type round struct {
	*Checker
	n        int32
	live     *projections.Partition
	dir      string // of the copy
	channels []string
	from     projections.Position // of the copy
}

// begin copies some channels of a live partition. It returns nil if there are none.
func (k *Checker) begin(ctx context.Context, n int32, size int) (_ *round, err error) {
	r := &round{Checker: k, n: n}
	if r.live, err = k.cfg.Node.Live(n); err != nil {
		return nil, nil //nolint:nilerr // it was live a moment ago, and has moved
	}
	at, _ := r.position()
	channels, err := k.sample(ctx, n, at, size)
	if err != nil || len(channels) == 0 {
		return nil, err
	}
	return r.copy(channels)
}

// copy copies the stored records of channels.
func (r *round) copy(channels []string) (_ *round, err error) {
	if r.dir, err = os.MkdirTemp(r.cfg.Fold.DataDir, scratchPrefix); err != nil {
		return nil, fmt.Errorf("creating a directory for the check: %w", err)
	}
	var large []string
	err = guard.Err("copying channels", func() (err error) {
		r.from, large, err = r.live.Excerpt(processor.StoreDir(r.dir, r.n), channels, maxChannel)
		return err
	})
	if err != nil {
		r.close()
		r.count(unknown, len(channels))
		return nil, err
	}
	r.count(unknown, len(large))
	r.channels = slices.DeleteFunc(channels, func(id string) bool { return slices.Contains(large, id) })
	return r, nil
}

// close removes the copy.
func (r *round) close() {
	if err := os.RemoveAll(r.dir); err != nil {
		r.cfg.Logger.Warn("the directory of a check cannot be removed", "dir", r.dir, "err", err)
	}
}

// position is how far the partition is folded; false if it is no longer live here.
func (r *round) position() (at projections.Position, ok bool) {
	ok = r.read(func() { at = r.live.Position() })
	return at, ok
}

// wait returns when there are enough records to fold.
func (r *round) wait(ctx context.Context) error {
	enough := time.NewTimer(window)
	defer enough.Stop()
	look := time.NewTicker(window / 20)
	defer look.Stop()
	for {
		select {
		case <-enough.C:
			return nil
		case <-look.C:
			if at, ok := r.position(); !ok || behind(r.from, at) > maxRecords/2 {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// behind is the number of records between two positions.
func behind(from, to projections.Position) (n int64) {
	for i := range from {
		n += to[i] - from[i]
	}
	return n
}

// finish compares the node's answers with the copy and the log.
func (r *round) finish(ctx context.Context) (err error) {
	left := len(r.channels) // channels that are not counted yet
	defer func() { r.count(unknown, left) }()
	seen, at, err := r.look(ctx)
	if err != nil || seen == nil || behind(r.from, at) > maxRecords {
		return err
	}
	derived, err := r.derive(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, derived.Close()) }()
	for i := range seen {
		d, found := seen[i].compare(derived)
		if err := derived.Err(); err != nil {
			return err
		}
		if left--; found {
			r.wrong(r.n, seen[i].id, at, d)
		} else {
			r.count(equal, 1)
		}
	}
	return nil
}

// derive folds the log over the copy, up to a position.
func (r *round) derive(ctx context.Context, at projections.Position) (*projections.Partition, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f := &r.cfg.Fold
	all, err := processor.Rebuild(ctx, processor.RebuildConfig{
		Config: processor.Config{
			Brokers: f.Brokers, ClientOptions: f.ClientOptions, Topics: f.Topics, DataDir: r.dir, Settings: f.Settings, Skip: f.Skip,
			Breaker: processor.Breaker{Off: true}, QueueBytes: maxChannel, MemTableSize: 1 << 20, MergeWait: time.Second,
			Logger: slog.New(slog.DiscardHandler),
		},
		Partitions: []int32{r.n}, Until: map[int32]projections.Position{r.n: at}, Resume: true, Parallel: 1,
	})
	if err != nil {
		return nil, err
	}
	if all[0].Err != nil {
		return nil, all[0].Err
	}
	return projections.OpenReadOnly(all[0].Dir, nil)
}
