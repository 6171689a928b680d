package processor

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/snapshot"
)

// fragile is a disk and a bucket that panic once, at the planted place.
type fragile struct {
	snapshot.Bucket
	list, get bool
	disk      func(op errorfs.Op) bool
	hits      atomic.Int32
}

func (f *fragile) List(ctx context.Context, prefix string, fn func(snapshot.Object) error) error {
	if f.list && f.hits.Add(1) == 1 {
		panic("planted")
	}
	return f.Bucket.List(ctx, prefix, fn)
}

func (f *fragile) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	if f.get && strings.Contains(key, "/files/") && f.hits.Add(1) == 1 {
		panic("planted")
	}
	return f.Bucket.Get(ctx, key)
}

// MaybeError implements errorfs.Injector.
func (f *fragile) MaybeError(op errorfs.Op) error {
	if f.disk != nil && f.disk(op) {
		panic("planted")
	}
	return nil
}

// String implements errorfs.Injector.
func (f *fragile) String() string { return "a panic" }

// TestPanicWhileOpening: a panic at any point of opening a store ends only that partition and
// releases its resources: the next opening of the directory, in this process, finds it free and
// complete.
func TestPanicWhileOpening(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	b, _ := bucket(t)
	tr := newTraffic(s, 12, 10)
	nth := func(n int32, kind errorfs.OpKind, path string) func(f *fragile) func(errorfs.Op) bool {
		return func(f *fragile) func(errorfs.Op) bool {
			return func(op errorfs.Op) bool {
				return op.Kind == kind && strings.Contains(op.Path, path) && f.hits.Add(1) == n
			}
		}
	}
	for _, c := range []struct {
		name  string
		list  bool
		get   bool
		disk  func(f *fragile) func(errorfs.Op) bool
		opens bool // the partition opens nevertheless, from the log
	}{
		{name: "listing the snapshots", list: true},
		{name: "bringing a file of one", get: true, opens: true},
		{name: "looking beside the store, which is open", disk: nth(1, errorfs.OpStat, ".replaced")},
		{name: "looking for room beside the store, which is closed", disk: nth(2, errorfs.OpStat, ".replaced")},
		{name: "moving the snapshot into place", disk: nth(1, errorfs.OpRename, ".restoring")},
		{name: "removing what it replaces, once it is open", disk: nth(1, errorfs.OpRemoveAll, ".removing")},
	} {
		old, ahead := t.TempDir(), t.TempDir()
		m := s.start(s.with(old, b)).ready(1) // makes a store that is behind a snapshot
		tr.run(100)
		s.caughtUp(m)
		m.stop()
		tr.run(300)
		m = s.start(s.with(ahead, b)).ready(1)
		s.caughtUp(m)
		m.snapshots(1)
		m.stop()

		f := &fragile{Bucket: b, list: c.list, get: c.get}
		if c.disk != nil {
			f.disk = c.disk(f)
		}
		config := s.with(old, f)
		config.FS = errorfs.Wrap(vfs.Default, f)
		setup.HooksOf(&config).CloserRecords = 1
		m = s.start(config)
		if c.opens {
			m.ready(1)
		} else {
			m.failedWith(0, 1, "the opening of its store panicked: planted")
		}
		m.stop()
		if f.hits.Load() == 0 {
			t.Errorf("%s: nothing was planted", c.name)
		}
		m = s.start(s.with(old, b)).ready(1)
		s.caughtUp(m)
		m.stop()
		if got, want := s.digests(s.config(""), old)[0], s.digestAfter(ahead); got != want {
			t.Errorf("%s: the digest is %x after it, want %x", c.name, got, want)
		}
	}
}
