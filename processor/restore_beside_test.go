package processor

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/snapshot"
)

// meeting is a bucket whose files can be read once the files of so many partitions are being read.
type meeting struct {
	snapshot.Bucket
	all chan struct{} // closed when they are

	mu         sync.Mutex
	partitions int
	inside     map[string]bool
}

var errAlone = errors.New("planted: the other partitions are not being restored")

func (b *meeting) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	if partition, _, isFile := strings.Cut(key, "/files/"); isFile {
		b.enter(partition)
		select {
		case <-b.all:
		case <-time.After(20 * time.Second):
			return nil, snapshot.Object{}, errAlone
		case <-ctx.Done():
			return nil, snapshot.Object{}, ctx.Err()
		}
	}
	return b.Bucket.Get(ctx, key)
}

func (b *meeting) enter(partition string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inside[partition] {
		return
	}
	if b.inside[partition] = true; len(b.inside) == b.partitions {
		close(b.all)
	}
}

// TestRestoresRunSideBySide: the partitions of an assignment are restored at the same time.
func TestRestoresRunSideBySide(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		const n = 4
		s := newSite(t, env.Brokers, n)
		inner, _ := bucket(t)
		b := &meeting{Bucket: inner, all: make(chan struct{}), partitions: n, inside: map[string]bool{}}
		newTraffic(s, 11, 20).run(400)
		m := s.start(s.with(t.TempDir(), b)).ready(n)
		s.caughtUp(m)
		m.snapshots(n)
		m.stop()

		m = s.start(s.with(t.TempDir(), b)).ready(n)
		if got := m.restored("done"); got != n {
			t.Errorf("%d of %d partitions were restored side by side", got, n)
		}
		s.caughtUp(m)
	})
}
