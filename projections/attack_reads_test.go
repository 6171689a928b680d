package projections

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// badReads fails the read with the number at.
type badReads struct {
	at       int64
	reads    atomic.Int64
	failures atomic.Int64
}

func (d *badReads) String() string { return fmt.Sprintf("read %d fails", d.at) }

// MaybeError implements errorfs.Injector.
func (d *badReads) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsRead || d.reads.Add(1)-1 != d.at {
		return nil
	}
	d.failures.Add(1)
	return errDisk
}

// crashed returns a function that makes disks as a crash leaves them: with tables, and with a log
// that is only partly in them.
func crashed(t *testing.T, l *randomLog) func() *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	p := mustOpen(t, disk, testIdentity())
	l.foldTo(p, 60, 40, func() bool { return true })
	mustCut(t, p)
	if err := p.db.Flush(); err != nil {
		t.Fatal(err)
	}
	l.foldTo(p, 90, 60, func() bool { return true })
	mustCut(t, p)
	for i := range 1000 { // empty ones: Pebble computes statistics for tables full of them
		if err := p.db.Delete(fmt.Appendf(nil, "\xff%d", i), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return func() *vfs.MemFS {
		return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	}
}

// TestEveryReadOfAnOpeningFails opens a store after a crash while each single read fails once. The
// store either opens and is right, or returns the error and is right at the next opening.
func TestEveryReadOfAnOpeningFails(t *testing.T) {
	l := newLongLog(1, 120, 80)
	m := newModels(l)
	crash := crashed(t, l)
	refused := 0
	for at := int64(0); ; at++ {
		var last *badReads
		for range 3 { // the timing of background work varies
			last = &badReads{at: at}
			left := crash()
			err := attempt(t, last.String(), func() error {
				p, err := Open("store", testIdentity(), attackOptions(errorfs.Wrap(left, last)))
				if err != nil {
					return err
				}
				return errors.Join(m.judge(t, p), p.Close())
			})
			if err != nil {
				refused++
				if !errors.Is(err, errDisk) && last.failures.Load() == 0 {
					t.Fatalf("%s: %v", last, err)
				}
			}
			mustBeModel(t, fmt.Sprintf("%s (%v); opened again", last, err), left, m)
		}
		if last.failures.Load() == 0 {
			t.Logf("%d reads, %d openings refused", at, refused)
			break
		}
	}
	if refused == 0 {
		t.Error("no opening was refused")
	}
}

// TestListFailsAtTheEndOfAnOpening: the log of a crashed store was written to a table, and a
// goroutine of Pebble is about to read its statistics. At that moment the directory cannot be
// listed. If Pebble closed the tables that the goroutine reads, its panic would end the process in
// most runs of these tries.
func TestListFailsAtTheEndOfAnOpening(t *testing.T) {
	l := newLongLog(1, 120, 80)
	m := newModels(l)
	crash := crashed(t, l)
	for range 300 {
		var created, failed atomic.Bool
		left := crash()
		_, err := Open("store", testIdentity(), attackOptions(errorfs.Wrap(left, errorfs.InjectorFunc(func(op errorfs.Op) error {
			switch {
			case op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "OPTIONS"), op.Kind == errorfs.OpRename:
				created.Store(true)
			case op.Kind == errorfs.OpList && created.Load():
				failed.Store(true)
				return errDisk
			}
			return nil
		}))))
		if !failed.Load() || !errors.Is(err, errDisk) {
			t.Fatalf("listing failed: %t; the store says: %v", failed.Load(), err)
		}
		mustBeModel(t, "opened again", left, m)
	}
}
