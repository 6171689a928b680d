package bench

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/load"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Snapshots measures snapshots of one partition with 1 and with 10 million pairs, in a directory.
func Snapshots(ctx context.Context) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	var all []Result
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

// snapshots takes a first snapshot of a partition with so many channels of 50 members, a second one after one event for
// every hundred pairs, all of them about one channel in a hundred, a third one after as many about all channels, and restores that until the partition answers.
func snapshots(ctx context.Context, channels int) (_ []Result, err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b, err := snapshot.OpenBucket("file://" + filepath.Join(dir, "bucket"))
	if err != nil {
		return nil, err
	}
	repo := snapshot.New(b, snapshot.Options{})
	f, err := openFolder(filepath.Join(dir, "store"), projections.DefaultSettings())
	if err != nil {
		return nil, err
	}
	mix := load.Mixes["B"]
	mix.Channels = channels
	g := load.New(mix)
	if err := f.join(g); err != nil {
		return nil, err
	}
	pairs := f.p.Stats().Pairs
	if err := f.foldAll(records(g.Next, pairs/5)); err != nil {
		return nil, err
	}
	if f, err = f.rested(filepath.Join(dir, "store")); err != nil {
		return nil, err
	}
	take := func() (*snapshot.Manifest, snapshot.Stats, time.Duration, error) {
		if err := f.cutNow(); err != nil {
			return nil, snapshot.Stats{}, 0, err
		}
		began := time.Now()
		m, s, err := repo.Create(ctx, f.p, filepath.Join(dir, "checkpoint"), snapshot.CreateOptions{})
		return m, s, time.Since(began), err
	}
	_, first, firstTook, err := take()
	if err != nil {
		return nil, err
	}
	if err := f.foldAll(recordsOfSome(g, pairs/100)); err != nil {
		return nil, err
	}
	_, second, secondTook, err := take()
	if err != nil {
		return nil, err
	}
	if err := f.foldAll(records(g.Next, pairs/100)); err != nil {
		return nil, err
	}
	m, third, _, err := take()
	if err != nil {
		return nil, err
	}
	if err := f.close(); err != nil {
		return nil, err
	}
	f = nil
	debug.FreeOSMemory()
	cpu := selfCPU()
	download, open, err := restore(ctx, repo, m, filepath.Join(dir, "restored"))
	if err != nil {
		return nil, err
	}
	cpu = selfCPU() - cpu
	seconds := (download + open).Seconds()
	name := fmt.Sprintf("%.3gM pairs", float64(pairs)/1e6)
	mib := func(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
	return []Result{{
		Name: "snapshot create, " + name,
		Goals: []Goal{
			atMost("% uploaded after changes in 1 % of the channels", share(second), 10),
		},
		Note: fmt.Sprintf("%s in %.1f s at first, %s in %.1f s then; %.0f %% after as many events in all channels", mib(first.UploadedBytes), firstTook.Seconds(),
			mib(second.UploadedBytes), secondTook.Seconds(), share(third)),
	}, {
		Name:  "snapshot to serving, " + name,
		Goals: []Goal{atMost("s", seconds, 15)},
		Note:  fmt.Sprintf("%s: download and checks %.1f s, opening %.1f s; %.1f CPU seconds", mib(m.Bytes()), download.Seconds(), open.Seconds(), cpu.Seconds()),
	}}, nil
}

// rested closes a store, compacts it and opens it again: what loading it in one go left to compact would else be uploaded
// once more.
func (f *folder) rested(dir string) (*folder, error) {
	if err := f.cutNow(); err != nil {
		return nil, err
	}
	if err := f.close(); err != nil {
		return nil, err
	}
	if _, err := compacted(dir); err != nil {
		return nil, err
	}
	next, err := openFolder(dir, projections.DefaultSettings())
	if err == nil {
		next.offsets = f.offsets
	}
	return next, err
}

// share is how much of a snapshot had to be uploaded, in per cent.
func share(s snapshot.Stats) float64 { return 100 * float64(s.UploadedBytes) / float64(s.Bytes) }

// recordsOfSome are the next n events of a generator that are about one channel in a hundred.
func recordsOfSome(g *load.Generator, n int) []record {
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

// restore brings a snapshot and opens it as the processor does.
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
