package projections

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestCrash is invariant O1: whichever unsynced data survives a power cut, the store equals the
// fold of its position. Folding the rest of the log gives the same as an undisturbed fold.
func TestCrash(t *testing.T) {
	n := scripts(t, 200)
	t.Logf("seeds 0 to %d", n-1)
	for seed := range n {
		l := newRandomLog(seed)
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		coin := func() bool { return rng.IntN(2) == 0 }
		all := [2]int64{int64(len(l.messages)), int64(len(l.reads))}

		calm := mustOpen(t, vfs.NewMem(), testIdentity())
		l.foldTo(calm, all[0], all[1], coin)
		mustCut(t, calm)
		want := dump(t, calm)

		fs := vfs.NewCrashableMem()
		p := mustOpen(t, fs, testIdentity())
		for crashes := 0; ; {
			pos := p.rules.Position()
			if pos[0] == all[0] && pos[1] == all[1] {
				break
			}
			l.foldTo(p, min(all[0], pos[0]+rng.Int64N(6)), min(all[1], pos[1]+rng.Int64N(6)), coin)
			if coin() {
				if coin() {
					p.writer.Large = 0 // from here until the next crash, each cut becomes a table
				}
				mustCut(t, p)
			}
			if crashes < 3 && rng.IntN(4) == 0 {
				crashes++
				stored := p.StoredPosition()
				fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(3) * 50, RNG: rng})
				_ = p.Close() // its file system no longer exists
				p = mustOpen(t, fs, testIdentity())
				if at := p.rules.Position(); at[0] > stored[0] || at[1] > stored[1] {
					t.Fatalf("seed %d: reopened at %v, beyond the last applied cut %v", seed, at, stored)
				}
			}
		}
		mustCut(t, p)
		if got := dump(t, p); got != want {
			t.Fatalf("seed %d:\n%s\nundisturbed:\n%s", seed, got, want)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if err := calm.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCutNotApplied: a cut that is never applied leaves no trace, and only one cut exists at a
// time.
func TestCutNotApplied(t *testing.T) {
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	l := newRandomLog(1)
	l.foldTo(p, 3, 2, func() bool { return true })
	if _, err := p.Cut(); err == nil || !strings.Contains(err.Error(), "not drained") {
		t.Fatalf("cut before the drain: %v", err)
	}
	var d Deltas
	p.Drain(&d, true)
	if _, err := p.Cut(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Cut(); err == nil || !strings.Contains(err.Error(), "outstanding") {
		t.Fatalf("second cut: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = mustOpen(t, fs, testIdentity())
	defer p.Close()
	if p.rules.Position() != (Position{}) || p.Stats().Channels != 0 {
		t.Fatalf("position %v, %+v", p.rules.Position(), p.Stats())
	}
}

// TestOffsetZero is B11: the record at offset 0 is not "none".
func TestOffsetZero(t *testing.T) {
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	p.rules.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte("m"), SenderID: []byte("b"), OccurredAt: 5}, 0, 5)
	p.rules.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 6, Target: events.TargetSeq, Seq: 1}, 0, 6)
	mustCut(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = mustOpen(t, fs, testIdentity())
	defer p.Close()
	v, ok := p.View("a", "c")
	if !ok || v.LastRead.Seq != 1 || v.Stamp != (events.Stamp{FoldVersion: FoldVersion, M: 1, R: 1}) || p.rules.Position() != (Position{1, 1, 0}) {
		t.Fatalf("%+v at %v", v, p.rules.Position())
	}
}

// TestInterruptedMaking: a crash while a store is created can leave the marker that names the
// manifest without the manifest. Such a directory opens as a new store. With any file of state
// beside the marker, it is refused.
func TestInterruptedMaking(t *testing.T) {
	const marker = "store/marker.manifest.000001.MANIFEST-000001"
	for file, refused := range map[string]bool{"": false, "store/LOCK": false, "store/000002.log": true, "store/000003.sst": true} {
		fs := vfs.NewMem()
		if err := fs.MkdirAll("store", 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{marker, file} {
			if name == "" {
				continue
			}
			f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		p, err := Open("store", testIdentity(), Options{FS: fs})
		if (err != nil) != refused {
			t.Fatalf("marker and %q: %v", file, err)
		}
		if err == nil {
			mustCut(t, p)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			p = mustOpen(t, fs, testIdentity())
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
