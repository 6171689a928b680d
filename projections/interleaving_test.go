package projections

import (
	"math/rand"
	"os"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// scripts returns how many random logs a test runs: TIDEMARK_PROPERTY_SCRIPTS, or def, or a tenth
// of it with -short.
func scripts(t *testing.T, def int) int64 {
	if s := os.Getenv("TIDEMARK_PROPERTY_SCRIPTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("TIDEMARK_PROPERTY_SCRIPTS: %v", err)
		}
		return int64(n)
	}
	if testing.Short() {
		def /= 10
	}
	return int64(def)
}

// TestInterleavings is law 3 of DESIGN §4.6: any interleaving of the topics gives the same bytes,
// at any position, whether the store was cut, closed and opened again on the way or not.
func TestInterleavings(t *testing.T) {
	n := scripts(t, 250)
	t.Logf("seeds 0 to %d", n-1)
	for seed := range n {
		l := newRandomLog(seed)
		rng := rand.New(rand.NewSource(seed ^ 0x5eed))
		messages, reads := int64(len(l.messages)), rng.Int63n(int64(len(l.reads))+1)
		if rng.Intn(2) == 0 {
			messages = rng.Int63n(messages + 1)
		}
		id := testIdentity()
		id.Settings.SendMarksRead = rng.Intn(5) > 0
		var want string
		for run := range 4 {
			fs := vfs.NewMem()
			p := mustOpen(t, fs, id)
			next := func() bool { return rng.Intn(2) == 0 }
			if run == 0 {
				next = func() bool { return true } // messages first, as in the one definition
			}
			for run == 3 {
				pos := p.rules.Position()
				if pos[0] == messages && pos[1] == reads {
					break
				}
				l.foldTo(p, min(messages, pos[0]+rng.Int63n(8)), min(reads, pos[1]+rng.Int63n(8)), next)
				mustCut(t, p)
				if rng.Intn(2) == 0 {
					if err := p.Close(); err != nil {
						t.Fatal(err)
					}
					p = mustOpen(t, fs, id)
				}
			}
			l.foldTo(p, messages, reads, next)
			mustCut(t, p)
			got := dump(t, p)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if run == 0 {
				want = got
			} else if got != want {
				t.Fatalf("seed %d, position (%d, %d), interleaving %d:\n%s\nmessages first:\n%s", seed, messages, reads, run, got, want)
			}
		}
	}
}
