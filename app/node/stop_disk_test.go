package node_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// disk decides what happens to operations on the files of stores.
type disk struct {
	hangs, fails, slow atomic.Bool
	hung               atomic.Int32  // operations that waited
	mended             chan struct{} // closed when nothing hangs any more
}

func (d *disk) String() string { return "a disk of a test" }

func (d *disk) MaybeError(errorfs.Op) error {
	if d.hangs.Load() {
		d.hung.Add(1)
		<-d.mended
	}
	if d.slow.Load() {
		time.Sleep(200 * time.Millisecond)
	}
	if d.fails.Load() {
		return errors.New("input/output error, planted")
	}
	return nil
}

// TestStopWhateverTheDiskDoes: with the default timeouts a stop ends in time while the disk hangs,
// is slow or fails: from before the node opens its stores, while it folds, or from the moment of
// the stop. Operations that hang go on when the disk works again.
func TestStopWhateverTheDiskDoes(t *testing.T) {
	hangs := func(d *disk) { d.hangs.Store(true) }
	fails := func(d *disk) { d.fails.Store(true) }
	slow := func(d *disk) { d.slow.Store(true) }
	dir := t.TempDir()
	t.Cleanup(func() { // before dir is removed
		testkit.Await(t, "what hung has ended", func() bool {
			stacks := goroutines()
			return !strings.Contains(stacks, "/errorfs.") && !strings.Contains(stacks, "tidemark/projections.")
		})
	})
	for _, c := range []struct {
		name                string
		fault               func(*disk)
		before, busy, hangs bool // fault comes before the start; records come after it; wait for an operation that hangs
	}{
		{name: "it hangs before stores open", fault: hangs, before: true, hangs: true},
		{name: "it hangs while the node folds", fault: hangs, busy: true, hangs: true},
		{name: "it hangs from the stop on", fault: hangs},
		{name: "it fails before stores open", fault: fails, before: true},
		{name: "it fails while the node folds", fault: fails, busy: true},
		{name: "it fails from the stop on", fault: fails},
		{name: "it is slow before stores open", fault: slow, before: true},
		{name: "it is slow while the node folds", fault: slow, busy: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, d := newStopping(t), &disk{mended: make(chan struct{})}
			defer close(d.mended)
			s.config.DataDir, s.config.FS = filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-")), errorfs.Wrap(private.FS, d)
			if c.before {
				c.fault(d)
			}
			n, run := s.start()
			if !c.before {
				testkit.Await(t, "the node is ready", func() bool { return n.Ready().Ready })
				s.write(2000)
				c.fault(d)
			}
			if c.busy {
				s.write(2000)
			}
			if c.hangs {
				testkit.Await(t, "the disk hangs", func() bool { return d.hung.Load() > 0 })
			} else if c.before || c.busy {
				time.Sleep(time.Second) // the node is at work
			}
			began := time.Now()
			err := run()
			took := time.Since(began)
			t.Logf("it took %s: %v", took.Round(10*time.Millisecond), err)
			if took > stopBound {
				t.Errorf("the stop took %s, want at most %s\n%s", took, stopBound, goroutines())
			}
		})
	}
}
