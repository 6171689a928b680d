package projections

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/test/testkit/fulldisk"
)

// fullAt is a disk that is full from a given operation on, until space is made.
type fullAt struct {
	at       int64
	ops      atomic.Int64
	hasSpace atomic.Bool
}

func (d *fullAt) full(string) bool { return d.ops.Add(1)-1 >= d.at && !d.hasSpace.Load() }

// TestDiskFullAtEveryWrite is recipe R8 below the processor: at each single write of a run the disk
// becomes full. The write waits; meanwhile, whatever locks of Pebble it holds, everything in the
// store can be read and is right. With space again the run continues as if nothing had happened,
// and so does a store that is opened from what a power cut leaves.
func TestDiskFullAtEveryWrite(t *testing.T) {
	l := newLongLog(1, 100, 60)
	m := newModels(l)
	for at := int64(0); ; at++ {
		full := &fullAt{at: at}
		disk := vfs.NewCrashableMem()
		small := fulldisk.New(disk, full.full)
		if at%2 == 1 {
			small.Err = syscall.EDQUOT
		}
		var open atomic.Pointer[Partition]
		var mu sync.Mutex
		waits := 0
		o := attackOptions(small)
		o.Full = func(err error) bool {
			if !errors.Is(err, small.Err) || !strings.Contains(err.Error(), "store store: ") {
				t.Errorf("write %d: the reason is %v", at, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if full.hasSpace.Load() {
				return true // another write that waited
			}
			waits++
			p := open.Load()
			if p == nil { // the store is being opened
				full.hasSpace.Store(true)
				return true
			}
			if p.Full() == nil {
				t.Errorf("write %d waits and the store does not report it", at)
			}
			read := make(chan error, 1)
			go func() {
				for !p.TryRLock() {
					if open.Load() == nil { // the store is being closed, without readers
						read <- nil
						return
					}
					runtime.Gosched()
				}
				defer p.RUnlock()
				got, want := answers(everything(p)), answers(m.at(t, p.rules.Position()))
				if err := p.rules.Err(); err != nil || got != want {
					read <- errors.Join(err, fmt.Errorf("at position %v: %s", p.rules.Position(), difference(got, want)))
					return
				}
				read <- nil
			}()
			select {
			case err := <-read:
				if err != nil {
					t.Errorf("write %d waits: %v", at, err)
				}
			case <-time.After(2 * time.Minute):
				panic("reads wait for the full disk") // with the stacks of all goroutines
			}
			full.hasSpace.Store(true)
			return true
		}
		p, err := Open("store", testIdentity(), o)
		if err != nil {
			t.Fatalf("write %d: %v", at, err)
		}
		open.Store(p)
		if err := foldLocked(p, l, 1); err != nil {
			t.Fatalf("write %d: %v", at, err)
		}
		if got, want := everything(p), m.at(t, l.end()); got != want {
			t.Fatalf("write %d: %s", at, difference(got, want))
		}
		open.Store(nil)
		p.Lock()
		err = p.Close()
		p.Unlock()
		if err != nil {
			t.Fatalf("write %d: %v", at, err)
		}
		if p.Full() != nil {
			t.Errorf("write %d: there is room, and the store says %v", at, p.Full())
		}
		cut := vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(1, uint64(at)))}
		mustBeModel(t, "after a power cut", disk.CrashClone(cut), m)
		mustBeModel(t, "opened again", disk, m)
		if waits == 0 {
			t.Logf("%d writes", at)
			return
		}
	}
}

// answers returns the answers of all queries, about stored and unstored state.
func answers(everything string) string {
	_, after, _ := strings.Cut("\n"+everything, "\ndigest ") // a store without records begins with it
	return after[strings.IndexByte(after, '\n'):]
}

// foldLocked folds a log as the runtime does, with a cut, and sometimes a flush, every few records.
func foldLocked(p *Partition, l *randomLog, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 11))
	var d Deltas
	for end := l.end(); p.rules.Position() != end; {
		p.Lock()
		pos := p.rules.Position()
		l.foldTo(p, min(end[0], pos[0]+rng.Int64N(24)), min(end[1], pos[1]+rng.Int64N(16)), func() bool { return rng.IntN(2) == 0 })
		p.Unlock()
		p.Drain(&d, true)
		d.Reset()
		p.writer.Large = rng.IntN(2) << 20 // 0: this cut becomes a table
		c, err := p.Cut()
		if err == nil {
			err = c.Apply()
		}
		if err == nil && rng.IntN(2) == 0 {
			err = p.db.Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestNobodyWaitsForRoom: without Options.Full, or after it gives up, a full disk is a failure like
// any other, and closing does not hang.
func TestNobodyWaitsForRoom(t *testing.T) {
	for _, wait := range []func(error) bool{nil, func(error) bool { return false }} {
		full := &fullAt{at: 1 << 60}
		o := attackOptions(fulldisk.New(vfs.NewMem(), full.full))
		o.Full = wait
		p, err := Open("store", testIdentity(), o)
		if err != nil {
			t.Fatal(err)
		}
		l := newLongLog(1, 100, 60)
		full.ops.Store(1 << 60)
		err = attempt(t, "a full disk", func() error { return errors.Join(foldLocked(p, l, 1), p.Close()) })
		if !vfs.IsNoSpaceError(err) {
			t.Errorf("the error is %v", err)
		}
	}
}
