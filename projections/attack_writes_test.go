package projections

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// errDisk is the error of the disks under attack.
var errDisk = errors.New("no space left on this disk")

// badDisk fails the write with the number at, or that one and all that follow.
type badDisk struct {
	at       int64
	stays    bool
	writes   atomic.Int64
	failures atomic.Int64
}

func (d *badDisk) String() string { return fmt.Sprintf("write %d fails, stays bad: %t", d.at, d.stays) }

// MaybeError implements errorfs.Injector. A failure to preallocate space is ignored.
func (d *badDisk) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFilePreallocate {
		return nil
	}
	if n := d.writes.Add(1) - 1; n != d.at && (!d.stays || n < d.at) {
		return nil
	}
	d.failures.Add(1)
	return errDisk
}

// TestEveryWriteFails is recipe R1: each single write to the disk fails once, or from there on. The
// store reports the error and names its directory. Nothing hangs, no goroutine of Pebble ends the
// process, and the directory can be opened again at once. After a power cut the store equals the
// fold of its position, whichever unsynced data survives.
func TestEveryWriteFails(t *testing.T) {
	for seed := range max(1, scripts(t, 100)/100) {
		l := newLongLog(seed, 120, 80)
		m := newModels(l)
		end := m.at(t, l.end())
		for at := int64(0); ; at++ {
			d := &badDisk{at: at, stays: at%2 == 1}
			what := fmt.Sprintf("seed %d, %s", seed, d)
			disk := vfs.NewCrashableMem()
			err := attempt(t, what, func() error { return foldStore(errorfs.Wrap(disk, d), l, uint64(seed)) })
			failed := d.failures.Load() > 0
			if failed != (err != nil) {
				t.Fatalf("%s: %d writes failed, and the store says: %v", what, d.failures.Load(), err)
			}
			if !failed {
				t.Logf("seed %d: %d writes", seed, at)
				break
			}
			if !strings.Contains(err.Error(), "store store: ") || !strings.Contains(err.Error(), errDisk.Error()) {
				t.Fatalf("%s: the error does not name the directory and the reason: %v", what, err)
			}
			for _, survives := range []int{0, 50, 100} {
				cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: survives, RNG: rand.New(rand.NewPCG(uint64(seed), uint64(at)))}
				mustBeModel(t, fmt.Sprintf("%s; %d %% of what was not synced survives", what, survives), disk.CrashClone(cfg), m)
			}
			mustBeModel(t, what+"; opened again", disk, m)
			if err := attempt(t, what+"; folded on", func() error { return foldStore(disk, l, uint64(seed)) }); err != nil {
				t.Fatalf("%s; folded on: %v", what, err)
			}
			p := mustOpen(t, disk, testIdentity())
			if got := everything(p); got != end {
				t.Fatalf("%s; folded on:\n%s", what, difference(got, end))
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// mustBeModel opens a store on a working disk and compares it with the fold of the log.
func mustBeModel(t *testing.T, what string, fs vfs.FS, m *models) {
	t.Helper()
	p, err := Open("store", testIdentity(), attackOptions(fs))
	if err == nil {
		err = errors.Join(m.judge(t, p), p.Close())
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
