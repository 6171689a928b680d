package processor

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/fulldisk"
	"github.com/tidemark/tidemark/snapshot"
)

// TestAFirstSnapshotCompacts: a node compacts a store before the first snapshot of its partition, and
// says so once. In the end nothing is missing.
func TestAFirstSnapshotCompacts(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	b, _ := bucket(t)
	tr := newTraffic(s, 12, 20)
	tr.run(2000)
	c := s.with(t.TempDir(), b)
	var log logBuffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	m := s.start(c).ready(1)
	s.caughtUp(m)
	for n := range 3 {
		m.snapshots(1)
		if got := strings.Count(log.String(), `msg="hot records are compacted before a snapshot`); got != 1 {
			t.Errorf("after %d snapshots hot records were compacted %d times", n+1, got)
		}
		tr.run(2)
		s.caughtUp(m)
	}
	m.stop()
	s.matchesReplay(1, c.DataDir)
}

// TestACompactionOnAFullDisk: the disk fills up while a store is compacted for its first snapshot. The
// partition waits for room, as in a cut, and answers meanwhile. With room again the snapshot is
// taken. If the node stops instead, neither waits.
func TestACompactionOnAFullDisk(t *testing.T) {
	for name, stops := range map[string]bool{"room again": false, "stop": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
			b, _ := bucket(t)
			tr := newTraffic(s, 13, 20)
			tr.run(2000)
			c := s.with(t.TempDir(), b)
			var compacting, full atomic.Bool
			c.FS = fulldisk.New(vfs.Default, func(name string) bool {
				if path.Ext(name) != ".sst" || !compacting.Load() {
					return false
				}
				return full.Load()
			})
			m := s.start(c).ready(1)
			s.caughtUp(m)
			m.stored(0, m.Status()[0].Position)
			part, err := m.Live(0)
			if err != nil {
				t.Fatal(err)
			}
			if err := part.Checkpoint(t.TempDir() + "/copy"); err != nil { // so that nothing is left to flush
				t.Fatal(err)
			}
			compacting.Store(true)
			full.Store(true)
			ended := make(chan error, 1)
			go func() {
				_, _, err := m.Snapshot(context.Background(), 0, snapshot.CreateOptions{})
				ended <- err
			}()
			m.stuck(1)
			part.RLock()
			_, ok := part.Channel(tr.name(0))
			part.RUnlock()
			if !ok || part.Err() != nil {
				t.Errorf("the partition answers %t, %v", ok, part.Err())
			}
			if stops {
				began := time.Now()
				m.stop()
				if err := <-ended; !errors.Is(err, ErrNotOwner) && err == nil {
					t.Errorf("the snapshot: %v", err)
				}
				if took := time.Since(began); took > c.StopTimeout/2 {
					t.Errorf("the stop took %s", took)
				}
				full.Store(false)
				m = s.start(c).ready(1)
				m.snapshots(1)
			} else {
				select {
				case err := <-ended:
					t.Errorf("a snapshot without room: %v", err)
				default:
				}
				full.Store(false)
				if err := <-ended; err != nil {
					t.Error(err)
				}
				m.ready(1)
			}
			m.stop()
			s.matchesReplay(1, c.DataDir)
		})
	}
}
