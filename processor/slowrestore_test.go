package processor

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/snapshot"
)

// gated is a bucket that holds back files while closed is set.
type gated struct {
	snapshot.Bucket
	mu      sync.Mutex
	gate    chan struct{} // nil: open
	waiting chan struct{} // gets a value for each read that waits
}

func (g *gated) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate != nil && strings.Contains(key, "/files/") {
		select {
		case g.waiting <- struct{}{}:
		default:
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, snapshot.Object{}, ctx.Err()
		}
	}
	return g.Bucket.Get(ctx, key)
}

// TestSlowRestoreHoldsUpNobody (B5, B8): while a member restores one partition, the other partition
// of the same assignment is live, /readyz shows the progress, and members come and go. If the
// partition goes away, its restore is cancelled and leaves nothing.
func TestSlowRestoreHoldsUpNobody(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		inner, _ := bucket(t)
		b := &gated{Bucket: inner, waiting: make(chan struct{}, 1)}
		first, dir := t.TempDir(), t.TempDir()
		tr := newTraffic(s, 8, 20)
		tr.run(300)
		m := s.start(s.with(first, b)).ready(2)
		s.caughtUp(m)
		m.snapshots(2)
		m.stop()
		if err := os.CopyFS(filepath.Join(dir, "partition-1"), os.DirFS(filepath.Join(first, "partition-1"))); err != nil {
			t.Fatal(err)
		}
		b.gate = make(chan struct{})
		m = s.start(s.with(dir, b))
		<-b.waiting
		until(t, "the other partition is live", func() bool { _, err := m.Live(1); return err == nil })
		if _, err := m.Live(0); !errors.Is(err, ErrOpening) {
			t.Errorf("the partition that is restored: %v", err)
		}
		if ok, lines := m.Ready(); ok || !strings.Contains(strings.Join(lines, "\n"), "partition 0 opening, restoring a snapshot: ") {
			t.Errorf("ready: %v, %q", ok, lines)
		}
		tr.run(50)

		// Members come until the restored partition has moved, and leave again.
		other := s.start(s.config(t.TempDir())).ready(1)
		tr.run(50)
		other.stop()
		until(t, "both partitions are back", func() bool { return len(m.Status()) == 2 })
		b.mu.Lock()
		close(b.gate)
		b.gate = nil
		b.mu.Unlock()
		m.ready(2)
		s.caughtUp(m)
		m.stop()
		s.matchesReplay(1, dir)
		if left, _ := filepath.Glob(filepath.Join(dir, "*.*")); len(left) > 0 {
			t.Errorf("the restore left %v", left)
		}
	})
}

// TestStopWhileRestoring: a stop does not wait for the rest of a snapshot.
func TestStopWhileRestoring(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		inner, _ := bucket(t)
		b := &gated{Bucket: inner, waiting: make(chan struct{}, 1)}
		newTraffic(s, 9, 5).run(50)
		m := s.start(s.with(t.TempDir(), b)).ready(1)
		s.caughtUp(m)
		m.snapshots(1)
		m.stop()
		b.gate = make(chan struct{}) // never opened
		dir := t.TempDir()
		m = s.start(s.with(dir, b))
		<-b.waiting
		began := time.Now()
		m.stop()
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the stop took %s, want at most 15s", took)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("the restore left %v", left)
		}
	})
}
