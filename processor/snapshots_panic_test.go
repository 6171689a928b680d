package processor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/snapshot"
)

// buggedBucket panics once, at the armed call.
type buggedBucket struct {
	snapshot.Bucket
	bug *bug
}

func (b *buggedBucket) Put(ctx context.Context, key string, r io.ReadSeeker, size int64) error {
	b.bug.at(0, "put")
	return b.Bucket.Put(ctx, key, r, size)
}

func (b *buggedBucket) PutIf(ctx context.Context, key string, data []byte, version string) error {
	b.bug.at(0, "put if")
	return b.Bucket.PutIf(ctx, key, data, version)
}

func (b *buggedBucket) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	if strings.Contains(key, "/files/") {
		b.bug.at(0, "get")
	}
	r, o, err := b.Bucket.Get(ctx, key)
	if err == nil && strings.Contains(key, "/files/") {
		r = &buggedReader{r, b.bug}
	}
	return r, o, err
}

func (b *buggedBucket) Delete(ctx context.Context, key string) error {
	b.bug.at(0, "prune")
	return b.Bucket.Delete(ctx, key)
}

// buggedReader panics in the middle of a file.
type buggedReader struct {
	io.ReadCloser
	bug *bug
}

func (r *buggedReader) Read(b []byte) (int, error) { r.bug.at(0, "read"); return r.ReadCloser.Read(b) }

// TestPanicInSnapshots: a panic while a snapshot is taken, during the prune after it, in the last
// snapshot of a node that stops, or during a restore ends that snapshot. The partition is live all
// the time, or opens from the log. The next snapshot succeeds, no lock is held, and no file is
// left. This holds with one member and with three.
func TestPanicInSnapshots(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 3)
			inner, _ := bucket(t)
			bug := &bug{}
			var log logBuffer
			var members []*member
			configs := map[*member]Config{}
			begin := func(dir string) *member {
				c := s.config(dir)
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				setup.HooksOf(&c).RetryAfter = func(int) time.Duration { return time.Millisecond }
				c.Snapshots = snapshot.New(&buggedBucket{inner, bug}, snapshot.Options{Logger: c.Logger, Keep: 1})
				c.SnapshotEvery = time.Hour // so that only the last ones are automatic
				m := s.start(c)
				configs[m] = c
				return m
			}
			for range nodes {
				members = append(members, begin(t.TempDir()))
			}
			until(t, "all are live", func() bool {
				live := 0
				for _, m := range members {
					before := len(m.Status()) // a member without partitions is ready too
					if ok, _ := m.Ready(); ok && before == 3/nodes && len(m.Status()) == before {
						live += len(m.Status())
					}
				}
				return live == 3
			})
			p := events.PartitionOf([]byte("general"), 3)
			owner := func() (m *member) {
				until(t, "somebody has the partition", func() bool {
					for _, m = range members {
						if _, err := m.Live(p); err == nil {
							return true
						}
					}
					return false
				})
				return m
			}
			s.join("general", "alice", "bob")
			posts := uint32(0)
			post := func() {
				posts++
				last := s.post("general", fmt.Sprint("m", posts), "alice")
				if n := owner().unread(last, "bob", "general"); n != posts {
					t.Fatalf("bob has %d unread, want %d", n, posts)
				}
				m := owner()
				for _, st := range m.Status() {
					if st.Partition == p {
						m.stored(p, st.Position)
					}
				}
			}
			logged := func(where string) {
				t.Helper()
				until(t, "the log has the bug at "+where, func() bool { return strings.Contains(log.String(), "planted at "+where) })
				log.reset()
			}
			free := func(where string) {
				t.Helper()
				m := owner()
				if !m.snapshotting.TryLock() {
					t.Fatalf("after a bug at %s: snapshots are locked", where)
				}
				m.snapshotting.Unlock()
				w := m.worker(p)
				if !w.Copying.TryLock() {
					t.Fatalf("after a bug at %s: the store is locked for copies", where)
				}
				w.Copying.Unlock()
				if left, _ := filepath.Glob(filepath.Join(configs[m].DataDir, "*checkpoint*")); len(left) > 0 {
					t.Errorf("after a bug at %s: %v is left", where, left)
				}
			}
			goroutines := 0
			for round := range 2 {
				for _, where := range []string{"put", "put if", "prune"} {
					post()
					bug.arm(where)
					_, _, err := owner().Snapshot(t.Context(), p, snapshot.CreateOptions{})
					if where == "prune" && err != nil || where != "prune" && guard.Of(err) == nil {
						t.Errorf("a bug at %s: %v", where, err)
					}
					logged(where)
					free(where)
					post()
					if _, _, err := owner().Snapshot(t.Context(), p, snapshot.CreateOptions{}); err != nil {
						t.Errorf("after a bug at %s: %v", where, err)
					}
				}
				if round == 0 {
					goroutines = runtime.NumGoroutine()
				}
			}
			until(t, "goroutines are as before", func() bool { return runtime.NumGoroutine() <= goroutines+5 })

			post()
			bug.arm("put") // in the last snapshot, of either member
			for _, m := range members {
				m.stop()
			}
			logged("put")
			for _, where := range []string{"get", "read"} {
				bug.arm(where)
				dir := t.TempDir()
				members = []*member{begin(dir)}
				post()
				logged(where)
				if left, _ := filepath.Glob(filepath.Join(dir, "*restoring*")); len(left) > 0 {
					t.Errorf("after a bug at %s: %v is left", where, left)
				}
				if runtime.GOOS == "linux" {
					open, _ := filepath.Glob("/proc/self/fd/*")
					for _, fd := range open {
						if to, _ := os.Readlink(fd); strings.Contains(to, "restoring") {
							t.Errorf("after a bug at %s: %s is open", where, to)
						}
					}
				}
				bug.armed.Store(nil)
				members[0].stop()
			}
		})
	}
}
