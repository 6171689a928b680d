package partition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Snapshots measures snapshots of one partition with 1 and with 10 million pairs, in a directory. The
// store is compacted whole before, or the initial load has left it and what a node does before its
// first snapshot compacts it.
func Snapshots(ctx context.Context) ([]gauge.Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	var all []gauge.Result
	for _, c := range []struct {
		channels int
		rested   bool
	}{{20_000, true}, {20_000, false}, {200_000, true}, {200_000, false}} {
		r, err := snapshots(ctx, c.channels, c.rested)
		if err != nil {
			return nil, err
		}
		all = append(all, r...)
		debug.FreeOSMemory()
	}
	return all, nil
}

// rounds is how many snapshots follow the first one: enough for compactions that rewrite most of the
// store, which come about every twelfth snapshot.
const rounds = 16

// snapshots takes snapshots of a partition with channels of 50 members. The first is of the initial
// state, and is repeated without any change. Each of the rounds that follow has one event for every
// hundred pairs, all in another hundredth of the channels. The last snapshot follows as many events
// in all channels. Then snapshots restores it and measures how long it takes until the partition
// answers.
func snapshots(ctx context.Context, channels int, rested bool) (_ []gauge.Result, err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b, err := snapshot.OpenBucket("file://" + filepath.Join(dir, "bucket"))
	if err != nil {
		return nil, err
	}
	read := &readFS{FS: private.FS}
	repo := snapshot.New(b, snapshot.Options{FS: read})
	d, err := openDriver(filepath.Join(dir, "store"), projections.DefaultSettings())
	if err != nil {
		return nil, err
	}
	mix := traffic.Mixes["B"]
	mix.Channels = channels
	g := traffic.New(mix)
	if err := d.join(g); err != nil {
		return nil, err
	}
	pairs := d.p.Stats().Pairs
	if err := d.foldAll(records(g.Next, pairs/5)); err != nil {
		return nil, err
	}
	if rested {
		if d, err = d.rested(filepath.Join(dir, "store")); err != nil {
			return nil, err
		}
	}
	var compacting compacting
	take := func() (*snapshot.Manifest, snapshot.Stats, time.Duration, error) {
		if err := d.cutNow(); err != nil {
			return nil, snapshot.Stats{}, 0, err
		}
		if err := compacting.compactHot(ctx, repo, d.p); err != nil {
			return nil, snapshot.Stats{}, 0, err
		}
		began := time.Now()
		m, s, err := repo.Create(ctx, d.p, filepath.Join(dir, "checkpoint"), snapshot.CreateOptions{})
		return m, s, time.Since(began), err
	}
	_, first, firstTook, err := take()
	if err != nil {
		return nil, err
	}
	if !rested && compacting.times == 0 {
		return nil, errors.New("the store needed no compaction before its first snapshot, so it was not as a load leaves it")
	}
	read.bytes.Store(0)
	if _, _, _, err := take(); !errors.Is(err, snapshot.ErrUnchanged) {
		return nil, fmt.Errorf("a snapshot without changes: %w", err)
	}
	unchanged := 100 * float64(read.bytes.Load()) / float64(first.Bytes)
	var uploaded []float64 // of each round, in per cent
	for i := range rounds {
		if err := d.foldAll(recordsOfSome(g, pairs/100, uint32(i))); err != nil {
			return nil, err
		}
		_, s, _, err := take()
		if err != nil {
			return nil, err
		}
		uploaded = append(uploaded, share(s))
	}
	if err := d.foldAll(records(g.Next, pairs/100)); err != nil {
		return nil, err
	}
	m, last, _, err := take()
	if err != nil {
		return nil, err
	}
	if err := d.close(); err != nil {
		return nil, err
	}
	d = nil
	debug.FreeOSMemory()
	cpu := gauge.SelfCPU()
	download, open, err := restore(ctx, repo, m, filepath.Join(dir, "restored"))
	if err != nil {
		return nil, err
	}
	cpu = gauge.SelfCPU() - cpu
	alone, beside, err := restores(ctx, b, m, dir)
	if err != nil {
		return nil, err
	}
	seconds := (download + open).Seconds()
	name := fmt.Sprintf("%.3gM pairs", float64(pairs)/1e6)
	if !rested {
		name += ", as loaded"
	}
	mib := func(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
	return []gauge.Result{{
		Name: "snapshot create, " + name,
		Goals: []gauge.Goal{
			gauge.AtMost("% uploaded after changes in 1 % of the channels, mean", mean(uploaded), 5),
			gauge.AtMost("% uploaded after them, largest", slices.Max(uploaded), 5),
			gauge.AtMost("% read where nothing changed", unchanged, 1),
		},
		Note: fmt.Sprintf("%s in %.1f s at first; %.1f %% one after the other; %.0f %% after as many events in all channels; %s", mib(first.UploadedBytes), firstTook.Seconds(),
			uploaded, share(last), &compacting),
	}, {
		Name:  "snapshot to serving, " + name,
		Goals: []gauge.Goal{gauge.AtMost("s", seconds, 15)},
		Note:  fmt.Sprintf("%s: download and checks %.1f s, opening %.1f s; %.1f CPU seconds", mib(m.Bytes()), download.Seconds(), open.Seconds(), cpu.Seconds()),
	}, {
		Name:  fmt.Sprintf("%d restores from a far bucket, %s", farRestores, name),
		Goals: []gauge.Goal{gauge.AtMost("of the time of one after the other, side by side", beside.Seconds()/alone.Seconds(), 0.5)},
		Note:  fmt.Sprintf("%.1f s one after the other, %.1f s side by side, without opening", alone.Seconds(), beside.Seconds()),
	}}, nil
}

// compacting is the compactions before snapshots.
type compacting struct {
	times int
	first projections.Compacted
	took  time.Duration // the first one, and its CPU time
	cpu   time.Duration
}

// compactHot does what a node does before a snapshot.
func (s *compacting) compactHot(ctx context.Context, repo *snapshot.Repository, p *projections.Partition) error {
	began, cpu := time.Now(), gauge.SelfCPU()
	did, err := repo.CompactHot(ctx, p.Identity().Partition, idle{p})
	if err != nil || !did.Done {
		return err
	}
	if s.times++; s.times == 1 {
		s.first, s.took, s.cpu = did, time.Since(began), gauge.SelfCPU()-cpu
	}
	return nil
}

func (s *compacting) String() string {
	if s.times == 0 {
		return "nothing was compacted before a snapshot"
	}
	return fmt.Sprintf("compacted before %d of the snapshots, first from %d to %d MiB in %.1f s and %.1f CPU seconds", s.times, s.first.Before>>20, s.first.After>>20,
		s.took.Seconds(), s.cpu.Seconds())
}

// idle is a partition that has nothing to do while it is compacted.
type idle struct{ *projections.Partition }

// CompactHot implements snapshot.Compactor.
func (i idle) CompactHot(ctx context.Context, has func(name string, size uint64) bool) (projections.Compacted, error) {
	return i.Partition.CompactHot(ctx, has, func() string { return "" })
}

// rested closes a store, compacts it and opens it again. Otherwise the next snapshot would upload
// the compactions that follow from the initial load.
func (d *driver) rested(dir string) (*driver, error) {
	if err := d.cutNow(); err != nil {
		return nil, err
	}
	if err := d.close(); err != nil {
		return nil, err
	}
	if _, err := compacted(dir); err != nil {
		return nil, err
	}
	next, err := openDriver(dir, projections.DefaultSettings())
	if err == nil {
		next.offsets = d.offsets
	}
	return next, err
}

// share returns the part of a snapshot that had to be uploaded, in per cent.
func share(s snapshot.Stats) float64 { return 100 * float64(s.UploadedBytes) / float64(s.Bytes) }

func mean(list []float64) (m float64) {
	for _, v := range list {
		m += v / float64(len(list))
	}
	return m
}

// recordsOfSome returns the next n events of a generator in one hundredth of its channels: the one
// of this number.
func recordsOfSome(g *traffic.Generator, n int, number uint32) []record {
	recs := make([]record, 0, n)
	for len(recs) < n {
		e := g.Next()
		h := fnv.New32a()
		_, _ = h.Write(e.Key)
		if h.Sum32()%100 == number {
			recs = append(recs, record{value: bytes.Clone(e.Value), millis: e.Millis, input: e.Input})
		}
	}
	return recs
}

// restore downloads a snapshot and opens it as the processor does.
func restore(ctx context.Context, repo *snapshot.Repository, m *snapshot.Manifest, dir string) (download, open time.Duration, err error) {
	began := time.Now()
	if err := repo.Download(ctx, m, dir, nil); err != nil {
		return 0, 0, err
	}
	download = time.Since(began)
	const memtable = 32 << 20
	cache := pebble.NewCache(128<<20 + 2*memtable)
	defer cache.Unref()
	began = time.Now()
	p, err := projections.Open(dir, m.Identity(), projections.Options{Cache: cache, MemTableSize: memtable})
	if err != nil {
		return 0, 0, err
	}
	open = time.Since(began)
	return download, open, p.Close()
}
