package projections

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// bugged is a context whose use panics.
type bugged struct{ context.Context }

func (bugged) Err() error { panic("planted") }

// TestPanicEndsTheMoment: an answer that panics when it begins or is completed does not delay the
// closing of the store.
func TestPanicEndsTheMoment(t *testing.T) {
	fixture, cut := walked(t) // its closing at the end waits for all moments
	defer fixture.apply(cut)
	for name, ask := range map[string]func(){
		"receipts": func() {
			w, _ := fixture.p.BeginReceipts("room", "m00003", 0, NewReceiptsMemory(10))
			_, _ = w.End(bugged{t.Context()})
		},
		"an explanation": func() {
			w, _ := fixture.p.BeginExplain("user-00149", "room")
			_, _ = w.End(bugged{t.Context()})
		},
		"the beginning of an explanation": func() {
			_, c, _ := fixture.p.rules.KnownChannel("room")
			was := c.Tail
			defer func() { c.Tail = was }()
			for i := range c.Tail {
				c.Tail[i] = 1 << 30
			}
			fixture.p.BeginExplain("user-00149", "room")
		},
	} {
		if err := guard.Do("it", ask); err == nil {
			t.Errorf("%s: nothing panicked", name)
		}
	}
}

// TestPanicInTheCut: a panic of Pebble while a cut is written, here because the database is closed,
// becomes an error of this store alone. The store can be closed and opened again, with the state of
// the cut before.
func TestPanicInTheCut(t *testing.T) {
	disk := vfs.NewMem()
	p := mustOpen(t, disk, testIdentity())
	post := func(p *Partition, n int64) {
		m := events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte{byte('a' + n)}, SenderID: []byte("ann"),
			OccurredAt: 1_790_000_000_000 + n}
		p.rules.FoldMessage(&m, n, m.OccurredAt)
	}
	post(p, 0)
	mustCut(t, p)
	stored := p.StoredPosition()
	post(p, 1)
	p.Drain(&Deltas{}, true)
	cut, err := p.Cut()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cut.Apply(); guard.Of(err) == nil {
		t.Fatalf("%v, want a panic as an error", err)
	}
	if !p.TryLock() {
		t.Fatal("the lock is held")
	}
	if guard.Of(p.rules.Err()) == nil {
		t.Errorf("readers are told %v", p.rules.Err())
	}
	if err := p.Close(); guard.Of(err) == nil {
		t.Errorf("its closing says %v", err)
	}
	p.Unlock()
	p = mustOpen(t, disk, testIdentity())
	defer p.Close()
	if p.rules.Position() != stored {
		t.Errorf("opened again at %v, want %v", p.rules.Position(), stored)
	}
}

// TestPanicInTheCopy is TestPanicInTheCut for a snapshot that copies the store.
func TestPanicInTheCopy(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Checkpoint("copy"); guard.Of(err) == nil || guard.Of(p.rules.Err()) == nil {
		t.Errorf("the copy: %v, the store: %v", err, p.rules.Err())
	}
	if err := p.Close(); guard.Of(err) == nil {
		t.Errorf("its closing says %v", err)
	}
}

// TestAnyRecordDamaged: whatever bytes replace the value of a record that is read at the start, the
// store is reported as corrupt, so that it is moved aside. It does not open, and no panic repeats
// at each try.
func TestAnyRecordDamaged(t *testing.T) {
	good := vfs.NewMem()
	p := mustOpen(t, good, testIdentity())
	formatsLog(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	records := map[string][]byte{}
	_, db := opened(t, good)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{keys.Hot}, UpperBound: []byte{keys.Hot + 1}})
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		records[string(it.Key())] = bytes.Clone(it.Value())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	tries := 20
	if testing.Short() {
		tries = 4
	}
	panics := 0
	for key, val := range records {
		for try := range tries {
			damaged := bytes.Clone(val)
			switch {
			case try == 0 || len(val) == 0:
				damaged = nil // removes the record
			case try == 1:
				damaged = damaged[:rnd.IntN(len(damaged))]
			case try%2 == 0:
				damaged[rnd.IntN(len(damaged))] ^= 1 << rnd.IntN(8)
			default:
				at := rnd.IntN(len(damaged))
				for i := range damaged[at:] {
					damaged[at+i] = byte(rnd.Uint32())
				}
			}
			if damaged != nil && bytes.Equal(damaged, val) {
				continue
			}
			disk := vfs.NewMem()
			if ok, err := vfs.Clone(good, disk, "store", "store"); !ok || err != nil {
				t.Fatal(ok, err)
			}
			_, db := opened(t, disk)
			if damaged == nil {
				err = db.Delete([]byte(key), pebble.Sync)
			} else {
				err = db.Set([]byte(key), damaged, pebble.Sync)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			p, err := Open("store", testIdentity(), Options{FS: disk})
			if err == nil {
				t.Errorf("seed %d: opens with %q = %x instead of %x", seed, key, damaged, val)
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			} else if !IsCorrupt(err) {
				t.Errorf("seed %d: %q = %x instead of %x is said to be %v", seed, key, damaged, val, err)
			}
			if bug := guard.Of(err); bug != nil {
				if panics++; panics == 1 {
					t.Logf("seed %d: %q = %x instead of %x panics, and is corrupt: %v\n%s", seed, key, damaged, val, bug, bug.Stack)
				}
			}
		}
	}
}

// TestPanicInTheLoading: the code after the checks relies on them. If a check fails, the store
// reports its result and that code does not run. If that code panics over records that passed, the
// store is reported as corrupt too, and is moved aside instead of being tried again forever.
func TestPanicInTheLoading(t *testing.T) {
	disk := vfs.NewMem()
	p := mustOpen(t, disk, testIdentity())
	formatsLog(t, p)
	mustCut(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	buggy := Options{FS: disk, planted: func(where string) { panic("planted at " + where) }}
	_, err := Open("store", testIdentity(), buggy)
	if !IsCorrupt(err) || guard.Of(err) == nil || guard.Of(err).Value != "planted at checked" {
		t.Errorf("a bug over records that passed the check: %v", err)
	}

	_, db := opened(t, disk)
	if err := db.Delete(keys.AppendHot(nil, []byte("c"), keys.HotChannel), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open("store", testIdentity(), buggy)
	if !IsCorrupt(err) || guard.Of(err) != nil || !strings.Contains(err.Error(), `channel "c": its record is missing`) {
		t.Errorf("a channel without its record: %v", err)
	}
}
