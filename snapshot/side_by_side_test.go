package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/snapshot"
)

// crowd is a bucket with one snapshot. Each read of a file waits inside it until let is closed.
type crowd struct {
	*memory
	let  chan struct{}
	came chan struct{} // gets a value for each read that waits

	mu           sync.Mutex
	inside, most int
}

// newCrowd returns the bucket, its repository, which reads one file of a snapshot at a time, and the
// manifest.
func newCrowd(t *testing.T, restores int) (*crowd, *snapshot.Repository, *snapshot.Manifest) {
	t.Helper()
	c := &crowd{memory: newMemory(), let: make(chan struct{}), came: make(chan struct{}, 1000)}
	f := openStore(t, filepath.Join(t.TempDir(), "partition-3"), nil)
	defer f.close(t)
	f.to(t, 500)
	m, _ := create(t, snapshot.New(c, snapshot.Options{}), f, filepath.Join(t.TempDir(), "scratch"))
	return c, snapshot.New(c, snapshot.Options{FS: vfs.NewMem(), Parallel: 1, Restores: restores}), m
}

func (c *crowd) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	if strings.Contains(key, "/files/") {
		c.enter(1)
		defer c.enter(-1)
		c.came <- struct{}{}
		select {
		case <-c.let:
		case <-ctx.Done():
			return nil, snapshot.Object{}, ctx.Err()
		}
	}
	return c.memory.Get(ctx, key)
}

func (c *crowd) enter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inside += n
	c.most = max(c.most, c.inside)
}

// download starts n downloads, each to a directory of its own below dir, and returns a function that
// waits for them.
func download(t *testing.T, r *snapshot.Repository, m *snapshot.Manifest, dir string, n int) (wait func()) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := r.Download(t.Context(), m, fmt.Sprint(dir, "/", i), nil); err != nil {
				t.Error(err)
			}
		})
	}
	return all.Wait
}

// TestDownloadsRunSideBySide: as many snapshots are downloaded at the same time as a Repository
// without options allows.
func TestDownloadsRunSideBySide(t *testing.T) {
	c, r, m := newCrowd(t, 0)
	wait := download(t, r, m, "all", snapshot.DefaultRestores)
	for n := range snapshot.DefaultRestores {
		select {
		case <-c.came:
		case <-time.After(20 * time.Second):
			t.Errorf("%d snapshots are downloaded side by side, not %d", n, snapshot.DefaultRestores)
			close(c.let)
			wait()
			return
		}
	}
	close(c.let)
	wait()
}

// TestDownloadsWait: no more snapshots are downloaded at the same time than allowed, and one that
// waits ends with its context.
func TestDownloadsWait(t *testing.T) {
	c, r, m := newCrowd(t, 2)
	wait := download(t, r, m, "first", 2)
	<-c.came
	<-c.came
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := r.Download(ctx, m, "waits", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third download, while two are in progress: %v", err)
	}
	rest := download(t, r, m, "rest", 5)
	close(c.let)
	wait()
	rest()
	if c.most > 2 {
		t.Errorf("%d snapshots were downloaded at the same time, at most 2 are allowed", c.most)
	}
}
