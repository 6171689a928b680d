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
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Snapshots measures snapshots of one partition with 1 and with 10 million pairs, in a directory.
func Snapshots(ctx context.Context) ([]gauge.Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	var all []gauge.Result
	for _, channels := range []int{20_000, 200_000} {
		r, err := snapshots(ctx, channels)
		if err != nil {
			return nil, err
		}
		all = append(all, r...)
		debug.FreeOSMemory()
	}
	return all, nil
}

// snapshots takes three snapshots of a partition with channels of 50 members. The first is of the
// initial state, and is repeated without any change. The second follows one event for every hundred
// pairs, all in one hundredth of the channels. The third follows as many events in all channels.
// Then snapshots restores the third and measures how long it takes until the partition answers.
func snapshots(ctx context.Context, channels int) (_ []gauge.Result, err error) {
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
	if d, err = d.rested(filepath.Join(dir, "store")); err != nil {
		return nil, err
	}
	take := func() (*snapshot.Manifest, snapshot.Stats, time.Duration, error) {
		if err := d.cutNow(); err != nil {
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
	read.bytes.Store(0)
	if _, _, _, err := take(); !errors.Is(err, snapshot.ErrUnchanged) {
		return nil, fmt.Errorf("a snapshot without changes: %w", err)
	}
	unchanged := 100 * float64(read.bytes.Load()) / float64(first.Bytes)
	if err := d.foldAll(recordsOfSome(g, pairs/100)); err != nil {
		return nil, err
	}
	_, second, secondTook, err := take()
	if err != nil {
		return nil, err
	}
	if err := d.foldAll(records(g.Next, pairs/100)); err != nil {
		return nil, err
	}
	m, third, _, err := take()
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
	seconds := (download + open).Seconds()
	name := fmt.Sprintf("%.3gM pairs", float64(pairs)/1e6)
	mib := func(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
	return []gauge.Result{{
		Name: "snapshot create, " + name,
		Goals: []gauge.Goal{
			gauge.AtMost("% uploaded after changes in 1 % of the channels", share(second), 5),
			gauge.AtMost("% read where nothing changed", unchanged, 1),
		},
		Note: fmt.Sprintf("%s in %.1f s at first, %s in %.1f s then; %.0f %% after as many events in all channels", mib(first.UploadedBytes), firstTook.Seconds(),
			mib(second.UploadedBytes), secondTook.Seconds(), share(third)),
	}, {
		Name:  "snapshot to serving, " + name,
		Goals: []gauge.Goal{gauge.AtMost("s", seconds, 15)},
		Note:  fmt.Sprintf("%s: download and checks %.1f s, opening %.1f s; %.1f CPU seconds", mib(m.Bytes()), download.Seconds(), open.Seconds(), cpu.Seconds()),
	}}, nil
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

// recordsOfSome returns the next n events of a generator in one hundredth of its channels.
func recordsOfSome(g *traffic.Generator, n int) []record {
	recs := make([]record, 0, n)
	for len(recs) < n {
		e := g.Next()
		h := fnv.New32a()
		_, _ = h.Write(e.Key)
		if h.Sum32()%100 == 0 {
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
