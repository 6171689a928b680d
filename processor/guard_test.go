package processor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// bug panics once, at one place of one partition.
type bug struct {
	partition int32
	armed     atomic.Pointer[string] // where it panics; nil: it does not
	hits      atomic.Int32
	gate      atomic.Pointer[chan struct{}] // writing a cut waits for it; nil: it does not wait
	waiting   atomic.Bool                   // a cut is at the gate
	written   chan error                    // the outcomes of written cuts
	spared    atomic.Int32                  // calls that do not panic although the bug is armed
}

func (b *bug) arm(where string) { b.armed.Store(&where) }

func (b *bug) at(partition int32, where string) {
	armed := b.armed.Load()
	if partition != b.partition || armed == nil || where != *armed || b.spared.Add(-1) >= 0 {
		return
	}
	if b.armed.CompareAndSwap(armed, nil) {
		b.hits.Add(1)
		panic("planted at " + where)
	}
}

// bugged is a projection with a bug.
type bugged struct {
	setup.Fold
	number int32
	bug    *bug
}

func (b *bug) open(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
	p, err := projections.Open(dir, id, o)
	if err != nil {
		return nil, err
	}
	return &bugged{setup.FoldOf(p), id.Partition, b}, nil
}

func (f *bugged) Warm(m []*events.Message, r []*events.Read) {
	f.bug.at(f.number, "warm")
	f.Fold.Warm(m, r)
}

func (f *bugged) Drain(d *projections.Deltas, full bool) {
	f.bug.at(f.number, "drain")
	f.Fold.Drain(d, full)
}

func (f *bugged) DirtyBytes() int64 { f.bug.at(f.number, "step"); return f.Fold.DirtyBytes() }

func (f *bugged) TakeCut() (setup.Cut, error) {
	f.bug.at(f.number, "cut")
	c, err := f.Fold.TakeCut()
	return &buggedCut{c, f}, err
}

// Close panics after it has closed the store. TestPanicInTheCut of projections tests what a panic
// of Pebble leaves.
func (f *bugged) Close() error {
	err := f.Fold.Close()
	f.bug.at(f.number, "close")
	return err
}

type buggedCut struct {
	setup.Cut
	f *bugged
}

func (c *buggedCut) Apply() error {
	c.f.bug.at(c.f.number, "apply")
	gate := c.f.bug.gate.Load()
	if gate == nil {
		return c.Cut.Apply()
	}
	c.f.bug.waiting.Store(true)
	<-*gate
	err := c.Cut.Apply()
	c.f.bug.written <- err
	return err
}

// TestPanicEndsOnePartition: wherever a partition panics, on one node and on three, it fails with
// an error, opens again and has lost nothing. The other partitions keep answering, and a stop ends.
func TestPanicEndsOnePartition(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 3)
		b := &bug{partition: events.PartitionOf([]byte("general"), 3)}
		var log, all logBuffer
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%d nodes: %s", nodes, all.String())
			}
		})
		var members []*member
		for range nodes {
			c := s.config(t.TempDir())
			h := setup.HooksOf(&c)
			h.OpenStore, h.RetryAfter = b.open, func(int) time.Duration { return time.Millisecond }
			c.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(&log, &all), nil))
			setup.HooksOf(&c).Planted = func(where string) { b.at(b.partition, where) }
			members = append(members, s.start(c))
		}
		owner := func(partition int32) (m *member) {
			until(t, fmt.Sprintf("somebody has partition %d", partition), func() bool {
				for _, m = range members {
					if _, err := m.Live(partition); err == nil {
						return true
					}
				}
				return false
			})
			return m
		}
		until(t, "all are live", func() bool {
			live := 0
			for _, m := range members {
				if ok, _ := m.Ready(); ok {
					live += len(m.Status())
				}
			}
			return live == 3
		})
		s.join("general", "alice", "bob")
		posts := 0
		for _, where := range []string{"warm", "step", "drain", "cut", "apply", "deliver"} {
			log.reset()
			b.arm(where)
			last := s.post("general", fmt.Sprint("m", posts), "alice")
			posts++
			if where == "warm" { // only runs for more than a few records at once
				for range 50 {
					last = s.post("general", fmt.Sprint("m", posts), "alice")
					posts++
				}
			}
			if where == "warm" && !isArmedFor(b, time.Second) {
				b.armed.Store(nil) // the records came one by one
			}
			until(t, "the bug at "+where+" shows", func() bool { return b.armed.Load() == nil })
			if b.hits.Swap(0) == 0 {
				continue
			}
			until(t, "the log has the bug at "+where, func() bool { return strings.Contains(log.String(), "planted at "+where) })
			until(t, "the partition opens again after a bug at "+where, func() bool {
				m := owner(b.partition)
				p, err := m.Live(b.partition)
				if err != nil {
					return false
				}
				p.RLock()
				defer p.RUnlock()
				return p.Position()[events.Messages] > last.Offset
			})
			if n := owner(b.partition).unread(last, "bob", "general"); n != uint32(posts) {
				t.Errorf("%d nodes, after a bug at %s: bob has %d unread, want %d", nodes, where, n, posts)
			}
			if message := log.String(); !strings.Contains(message, "planted at "+where) || strings.Count(message, "[running]") != 1 {
				t.Errorf("%d nodes, a bug at %s: the log does not have it once: %s", nodes, where, message)
			}
		}
		for p := range int32(3) {
			owner(p)
		}
		b.arm("close")
		for _, m := range members {
			m.stop()
		}
		if b.hits.Load() != 1 {
			t.Errorf("%d nodes: nothing was planted in the closing", nodes)
		}
	}
}

// TestPanicWhileACutIsWritten: wherever a worker panics, its store stays open until the other
// goroutine has written its cut.
func TestPanicWhileACutIsWritten(t *testing.T) {
	for spared := range int32(6) {
		s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
		b := &bug{written: make(chan error, 1)}
		var log logBuffer
		c := s.config(t.TempDir())
		h := setup.HooksOf(&c)
		h.OpenStore, h.RetryAfter = b.open, func(int) time.Duration { return time.Millisecond }
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		m := s.start(c).ready(1)
		gate := make(chan struct{})
		b.gate.Store(&gate)
		s.join("general", "alice", "bob")
		until(t, "a cut is being written", b.waiting.Load)
		b.spared.Store(spared)
		b.arm("step")
		var last *kgo.Record
		until(t, "the worker panics", func() bool {
			last = s.post("general", "m", "alice")
			return b.hits.Load() == 1
		})
		time.Sleep(20 * time.Millisecond) // time for a closing that does not wait
		b.gate.Store(nil)
		close(gate)
		if err := <-b.written; err != nil {
			t.Errorf("a panic behind %d calls: %v", spared, err)
		}
		until(t, "the partition opens again", func() bool {
			p, err := m.Live(0)
			if err != nil {
				return false
			}
			p.RLock()
			defer p.RUnlock()
			return p.Position()[events.Messages] > last.Offset
		})
		m.stop()
		if message := log.String(); strings.Count(message, "[running]") != 1 {
			t.Errorf("a panic behind %d calls: the log has more than the one that was planted: %s", spared, message)
		}
	}
}

// isArmedFor waits for a bug to panic, up to patience, and reports whether it did.
func isArmedFor(b *bug, patience time.Duration) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if b.armed.Load() == nil {
			return true
		}
	}
	return false
}

// TestPanicInTheCollector: if one partition cannot be read, a scrape has the metrics of all others,
// and no lock stays locked.
func TestPanicInTheCollector(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 2)
	c := s.config(t.TempDir())
	b := &bug{}
	setup.HooksOf(&c).Planted = func(where string) { b.at(0, where) }
	m := s.start(c).ready(2)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(collector{m.Processor})
	gathered := func() int {
		all, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.GetName() == "tidemark_processor_hot_bytes" {
				return len(f.GetMetric())
			}
		}
		return 0
	}
	b.arm("stats")
	if n := gathered(); n != 1 {
		t.Errorf("%d partitions have hot_bytes beside a bug, want 1", n)
	}
	if n := gathered(); n != 2 {
		t.Errorf("%d partitions have hot_bytes after a bug, want 2", n)
	}
	last := s.join("general", "alice") // needs the lock
	m.unread(last, "alice", "general")
}

// TestSnapshotOfWhatLeaves: a rebalance may take a partition away at any moment of a snapshot.
func TestSnapshotOfWhatLeaves(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	b, _ := bucket(t)
	m := s.start(s.with(t.TempDir(), b)).ready(1)
	s.join("general", "alice")
	dir := t.TempDir()
	until(t, "its store is written, so that it can be copied", func() bool {
		_, _, err := m.Snapshot(t.Context(), 0, snapshot.CreateOptions{})
		return err == nil
	})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	w := m.worker(0)
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			m.mu.Lock()
			delete(m.workers, 0)
			m.mu.Unlock()
			m.mu.Lock()
			m.workers[0] = w
			m.mu.Unlock()
		}
	})
	for i, taken := 0, 0; i < 2000 || taken == 0; i++ {
		if w, err := m.liveWorker(0); (w == nil) == (err == nil) {
			t.Fatalf("worker %v, error %v", w, err)
		}
		if i%200 != 0 {
			continue
		}
		if err := m.Checkpoint(0, fmt.Sprintf("%s/%d", dir, i)); err != nil && !errors.Is(err, ErrNotOwner) {
			t.Fatal(err)
		}
		switch _, _, err := m.Snapshot(t.Context(), 0, snapshot.CreateOptions{}); {
		case err == nil, errors.Is(err, snapshot.ErrUnchanged):
			taken++
		case !errors.Is(err, ErrNotOwner):
			t.Fatal(err)
		}
	}
}

// TestPanicInARebalance: a callback panics in a goroutine of the client.
func TestPanicInARebalance(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	c := s.config(t.TempDir())
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.asker.Close()
	p.callback("giving partitions away", func(_ context.Context, _ *kgo.Client, _ map[string][]int32) { panic("planted") })(t.Context(), nil, nil)
	if ok, lines := p.Ready(); ok || !strings.Contains(strings.Join(lines, "\n"), "giving partitions away panicked: planted") {
		t.Errorf("ready %v, %q", ok, lines)
	}
}

// logBuffer is a buffer that several goroutines may write to.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
