package processor

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// hangingDisk is a disk whose stores hang or fail on demand.
type hangingDisk struct {
	failing atomic.Bool
	hangs   struct{ open, apply, close atomic.Bool }
	free    chan struct{} // closed when nothing may hang any more
	reached sync.Map      // the operations that have hung
}

func (d *hangingDisk) wait(what string, hangs *atomic.Bool) error {
	if hangs.Load() {
		d.reached.Store(what, true)
		<-d.free
	}
	if d.failing.Load() {
		return errors.New("input/output error, planted")
	}
	return nil
}

func (d *hangingDisk) open(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
	if err := d.wait("open", &d.hangs.open); err != nil {
		return nil, err
	}
	f, err := setup.Open(dir, id, o)
	return hangingFold{f, d}, err
}

type hangingFold struct {
	setup.Fold
	d *hangingDisk
}

func (f hangingFold) TakeCut() (setup.Cut, error) {
	c, err := f.Fold.TakeCut()
	return hangingCut{c, f.d}, err
}

func (f hangingFold) Close() error {
	err := f.d.wait("close", &f.d.hangs.close)
	return errors.Join(err, f.Fold.Close())
}

type hangingCut struct {
	setup.Cut
	d *hangingDisk
}

func (c hangingCut) Apply() error {
	if err := c.d.wait("apply", &c.d.hangs.apply); err != nil {
		return err
	}
	return c.Cut.Apply()
}

// TestStopWhateverTheDiskDoes: a disk that hangs while stores are opened, written or closed, or
// that fails, does not delay a stop beyond ShutdownTimeout. Hanging work ends by itself once the
// disk works again.
func TestStopWhateverTheDiskDoes(t *testing.T) {
	for name, state := range map[string]func(d *hangingDisk) (hung string){
		"opening hangs": func(d *hangingDisk) string { d.hangs.open.Store(true); return "open" },
		"writing hangs": func(d *hangingDisk) string { d.hangs.apply.Store(true); return "apply" },
		"closing hangs": func(d *hangingDisk) string { d.hangs.close.Store(true); return "close" },
		"it fails":      func(d *hangingDisk) string { d.failing.Store(true); return "" },
		"all is well":   func(*hangingDisk) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			const n = 2
			s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
			d := &hangingDisk{free: make(chan struct{})}
			c := s.config(t.TempDir())
			c.StopTimeout, c.ShutdownTimeout = time.Hour, 2*time.Second // a stop is not a revocation, so StopTimeout does not apply
			setup.HooksOf(&c).OpenStore = d.open
			var hung string
			if name == "opening hangs" {
				hung = state(d)
			}
			m := s.start(c)
			if name != "opening hangs" {
				m.ready(n)
				newTraffic(s, rand.Uint64(), 20).run(200)
				s.caughtUp(m)
				hung = state(d)
				newTraffic(s, rand.Uint64(), 20).run(200)
			}
			if hung == "open" || hung == "apply" {
				until(t, "the disk hangs", func() bool { _, is := d.reached.Load(hung); return is })
			}
			began := time.Now()
			m.stop() // fails after a minute
			if took := time.Since(began); took > c.ShutdownTimeout+5*time.Second {
				t.Errorf("the stop took %s, want about %s", took, c.ShutdownTimeout)
			} else {
				t.Logf("the stop took %s", took)
			}
			close(d.free)
			until(t, "what hung has ended", func() bool {
				m.mu.RLock()
				defer m.mu.RUnlock()
				for _, done := range m.leaving {
					if !life.Done(done) {
						return false
					}
				}
				return true
			})
		})
	}
}
