package processor

import (
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/fulldisk"
)

// disk is a disk that a test fills and empties.
type disk struct {
	dir         string
	fs          vfs.FS
	own         bool // a real file system, on which deleting unused files frees space, so the test keeps filling it
	fill, empty func()
}

// wrappedDisk returns a disk that fails writes in a directory as a full disk does.
func wrappedDisk(t *testing.T) *disk {
	var full atomic.Bool
	d := &disk{dir: t.TempDir(), fill: func() { full.Store(true) }, empty: func() { full.Store(false) }}
	d.fs = fulldisk.New(vfs.Default, func(string) bool { return full.Load() })
	return d
}

// smallDisk returns a file system of 16 MiB in memory. Mounting one needs rights; without them it
// returns a wrapped disk.
func smallDisk(t *testing.T) *disk {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Logf("no file system of its own can be mounted (%v: %s): a wrapped disk stands in", err, strings.TrimSpace(string(out)))
		return wrappedDisk(t)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	return &disk{
		dir: filepath.Join(dir, "data"),
		own: true,
		fill: func() {
			f, err := os.OpenFile(ballast, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := io.Copy(f, io.LimitReader(zeros{}, 1<<30)); !vfs.IsNoSpaceError(err) {
				t.Fatalf("filling the disk: %v", err)
			}
		},
		empty: func() {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		},
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// stuck waits until a member reports that its partitions do not fold because the disk is full, and
// that it is not ready.
func (m *member) stuck(partitions int) {
	m.t.Helper()
	until(m.t, "the full disk is noticed", func() bool {
		ok, lines := m.Ready()
		text := strings.Join(lines, "\n")
		return !ok && strings.Count(text, "no space left on device; free some space, and it continues by itself") == partitions
	})
}

// TestDiskFull (R8): the disk of a node fills up during its work. The node does not fetch its
// partitions, their queries continue, /readyz gives the reason, and the partitions continue by
// themselves when there is space. In the end nothing is missing.
func TestDiskFull(t *testing.T) {
	for name, disk := range map[string]func(*testing.T) *disk{"small": smallDisk, "wrapped": wrappedDisk} {
		t.Run(name, func(t *testing.T) {
			const n = 2
			s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
			tr := newTraffic(s, rand.Uint64(), 20)
			tr.run(2000)
			d := disk(t)
			c := s.config(d.dir)
			c.FS = d.fs
			m := s.start(c).ready(n)
			s.caughtUp(m)
			for round := range 2 {
				until(t, "both find the disk full", func() bool {
					d.fill()
					tr.run(50)
					st := m.Status()
					return st[0].Full != nil && st[1].Full != nil
				})
				stuck := m.Status()
				if !d.own {
					m.stuck(n)
					paused := m.consumer.PauseFetchPartitions(nil)
					for _, topic := range s.names().Inputs {
						if len(paused[topic]) != n {
							t.Errorf("of %s only %v are not fetched", topic, paused[topic])
						}
					}
				}
				for p := range int32(n) {
					part, err := m.Live(p)
					if err != nil {
						t.Fatalf("partition %d does not answer: %v", p, err)
					}
					part.RLock()
					channels := 0
					for i := range tr.channels {
						if _, ok := part.Channel(tr.name(i)); ok {
							channels++
						}
					}
					err = part.Err()
					part.RUnlock()
					if err != nil || channels == 0 {
						t.Errorf("partition %d answers for %d channels, error %v", p, channels, err)
					}
				}
				tr.run(500)
				if now := m.Status(); !d.own && (now[0].Position != stuck[0].Position || now[1].Position != stuck[1].Position) {
					t.Errorf("round %d: positions moved from %v to %v while nothing is folded", round, stuck, now)
				}
				if round == 1 { // the member restarts on the full disk
					m.stop()
					d.fill()
					m = s.start(c)
					m.stuck(n)
				}
				d.empty()
				m.ready(n)
				s.caughtUp(m)
			}
			m.stop()
			s.matchesReplay(1, d.dir)
		})
	}
}

// TestFullDiskOfOnePartition: the other partitions continue, whether the disk is full at the start
// or later.
func TestFullDiskOfOnePartition(t *testing.T) {
	const n = 3
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
	c := s.config(t.TempDir())
	var full atomic.Bool
	c.FS = fulldisk.New(vfs.Default, func(name string) bool { return full.Load() && strings.Contains(name, "partition-1") })
	full.Store(true)
	m := s.start(c)
	tr := newTraffic(s, rand.Uint64(), 20)
	tr.run(1000)
	until(t, "the others are live", func() bool {
		st := m.Status()
		return len(st) == n && st[0].State == StateLive && st[1].State == StateOpening && st[2].State == StateLive
	})
	m.stuck(1)
	full.Store(false)
	m.ready(n)
	s.caughtUp(m)
	full.Store(true)
	until(t, "one is stuck", func() bool { tr.run(50); return m.Status()[1].Full != nil })
	m.stuck(1)
	tr.run(1000)
	ends := s.ends()
	until(t, "the others fold", func() bool {
		st := m.Status()
		return len(st) == n && st[0].Position == ends[0] && st[2].Position == ends[2]
	})
	if st := m.Status()[1]; st.State != StateLive || st.Full == nil || st.Position == ends[1] {
		t.Errorf("the one with the full disk is %v, its logs end at %v", st, ends[1])
	}
	full.Store(false)
	m.ready(n)
	s.caughtUp(m)
	m.stop()
	s.matchesReplay(1, c.DataDir)
}
