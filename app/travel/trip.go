package travel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// trip answers one question as of a moment. It is the query.Node of that question, and its live
// partitions are those folded to the moment.
type trip struct {
	guide  *Guide
	moment Moment
	logs   *logs
	dir    string
	live   map[int32]*projections.Partition
	report func(processor.RebuildProgress) // may be nil
}

// begin queries the offsets of the logs at a moment. The caller closes the trip.
func (g *Guide) begin(ctx context.Context, m Moment) (*trip, error) {
	if err := m.past(g.now()); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	l, err := g.survey(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := l.check(m); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if err := private.MkdirAll(g.fold.DataDir); err != nil {
		return nil, fmt.Errorf("creating a directory for the fold: %w", err)
	}
	dir, err := os.MkdirTemp(g.fold.DataDir, scratchPrefix)
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the fold: %w", err)
	}
	return &trip{guide: g, moment: m, logs: l, dir: dir, live: map[int32]*projections.Partition{}, report: g.report}, nil
}

// close removes the folded stores.
func (t *trip) close() error {
	var err error
	for n := range t.live {
		err = errors.Join(err, t.leave(n))
	}
	return errors.Join(err, os.RemoveAll(t.dir))
}

// leave closes a partition. Its store stays until close.
func (t *trip) leave(n int32) error {
	p := t.live[n]
	delete(t.live, n)
	if p == nil {
		return nil
	}
	p.Lock()
	defer p.Unlock()
	return p.Close()
}

// arrive folds partitions to the moment, one after the other.
func (t *trip) arrive(ctx context.Context, partitions []int32) error {
	for _, n := range partitions {
		s, err := t.logs.at(t.moment, n)
		if err != nil {
			return err
		}
		if err := t.fold(ctx, &s); err != nil {
			return err
		}
	}
	return nil
}

// fold creates the store of a partition as of s, and opens it.
func (t *trip) fold(ctx context.Context, s *stand) error {
	bases, err := t.guide.bases(ctx, t.logs, t.moment, s)
	if err != nil {
		return err
	}
	dir := processor.StoreDir(t.dir, s.partition)
	var damaged error
	for i := range bases {
		var bad *snapshot.DamagedError
		err := t.guide.snapshots.Download(ctx, bases[i].Manifest, dir, nil)
		if errors.As(err, &bad) {
			damaged = err
			continue
		}
		if err != nil {
			return err
		}
		t.guide.log.Info("a question about the past begins with a snapshot", "partition", s.partition, "position", bases[i].Manifest.Position(), "to", s.at)
		if bases[i].Manifest.Position() == s.at {
			return t.open(s.partition)
		}
		return t.foldFurther(ctx, s)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if s.trimmed() {
		return fmt.Errorf("every snapshot of partition %d from before %s is damaged: %w", s.partition, t.moment, damaged)
	}
	return t.foldFurther(ctx, s)
}

// foldFurther folds the log into the store in the directory, and opens the result.
func (t *trip) foldFurther(ctx context.Context, s *stand) error {
	f := &t.guide.fold
	all, err := processor.Rebuild(ctx, processor.RebuildConfig{
		Config: processor.Config{
			Brokers: f.Brokers, ClientOptions: f.ClientOptions, Topics: f.Topics, DataDir: t.dir, Settings: f.Settings, Skip: f.Skip,
			Breaker: processor.Breaker{Off: true}, QueueBytes: queueBytes, MemTableSize: memTable, CutBytes: cutBytes,
			Logger: slog.New(slog.DiscardHandler),
		},
		Partitions: []int32{s.partition}, Until: map[int32]projections.Position{s.partition: s.at}, Resume: true, Parallel: 1, Report: t.report,
	})
	switch {
	case err != nil:
		return err
	case all[0].Err != nil:
		return all[0].Err
	}
	return t.open(s.partition)
}

// open opens a folded store.
func (t *trip) open(n int32) error {
	p, err := projections.Open(processor.StoreDir(t.dir, n), t.logs.identity(n), projections.Options{MemTableSize: memTable, ThreadsAlways: t.guide.fold.ThreadsAlways})
	if err != nil {
		return err
	}
	t.live[n] = p
	return nil
}

// The memory that a fold takes in addition to the partition's hot state, which is as large as in a
// live partition.
const (
	queueBytes = 16 << 20
	memTable   = 4 << 20
	cutBytes   = 8 << 20
)

// Partitions is the partition count of the inputs.
func (t *trip) Partitions() int32 { return t.logs.partitions }

// Live returns a partition that was folded to the moment.
func (t *trip) Live(n int32) (*projections.Partition, error) {
	if p := t.live[n]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("partition %d is not folded to %s", n, t.moment)
}

// Wait refuses tokens of records after the moment.
func (t *trip) Wait(_ context.Context, n int32, in events.Input, offset int64) error {
	p, err := t.Live(n)
	if err != nil {
		return err
	}
	p.RLock()
	defer p.RUnlock()
	if at := p.Position()[in]; offset >= at {
		return fmt.Errorf("the moment is before this record: the fold ends before offset %d", at)
	}
	return nil
}

// Owner returns no node: a trip does not forward calls.
func (t *trip) Owner(_ context.Context, n int32) (string, error) {
	_, err := t.Live(n)
	return "", err
}

// RelayKey returns no key.
func (t *trip) RelayKey(string) string { return "" }

// MayHold knows of no partition that is not here.
func (t *trip) MayHold(int32, uint64) bool { return true }

// Watch returns an error: nothing changes in the past.
func (t *trip) Watch(int32, string) (watch.Watcher, error) {
	return nil, errors.New("nothing changes in the past: to see what changed, ask for a diff of two moments")
}

// Arrivals is of a watch, which is refused.
func (t *trip) Arrivals(string) watch.Arrivals { return nil }

// Patience bounds the whole question.
const Patience = 10 * time.Minute
