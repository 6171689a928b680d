package projections_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// TestDamagedStoresAreCorrupt (R2): a store with any file damaged, cut off or missing either opens
// unchanged or is reported as corrupt, so that its owner moves it aside and rebuilds it. It is
// never refused with another error, because then no owner would do that.
func TestDamagedStoresAreCorrupt(t *testing.T) {
	good := vfs.NewMem()
	id := projections.Identity{ClusterID: "test", Partitions: 1, Settings: projections.DefaultSettings()}
	p, err := projections.Open("store", id, projections.Options{FS: good})
	if err != nil {
		t.Fatal(err)
	}
	for o := range int64(300) {
		m := events.Message{Kind: events.KindMessagePosted, ChannelID: fmt.Appendf(nil, "c%d", o%20), MessageID: fmt.Appendf(nil, "m%d", o),
			SenderID: []byte("ann"), OccurredAt: 1_700_000_000_000 + o}
		p.FoldMessage(&m, o, m.OccurredAt)
		if o%50 == 49 {
			p.Drain(&projections.Deltas{}, true)
			c, err := p.Cut()
			if err == nil {
				err = c.Apply()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	digest := p.Digest()
	if err := p.Checkpoint("copy"); err != nil { // its log is empty
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	corrupt, elsewhere := 0, 0
	for _, dir := range []string{"store", "copy"} {
		names, err := good.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data := content(t, good, good.PathJoin(dir, name))
			n := len(data)
			damages := map[string][]byte{"missing": nil, "emptied": {}}
			if n > 0 {
				damages["cut off"] = data[:rnd.IntN(n)]
				for i := range 8 {
					flipped := bytes.Clone(data)
					flipped[rnd.IntN(n)] ^= 1 << rnd.IntN(8)
					damages[fmt.Sprint("flip ", i)] = flipped
				}
			}
			if options := bytes.Replace(data, []byte("wal_dir="), []byte("wal_dir=x"), 1); !bytes.Equal(options, data) {
				damages["a log elsewhere"] = options
				elsewhere++
			}
			for what, now := range damages {
				fs := vfs.NewMem()
				if _, err := vfs.Clone(good, fs, dir, dir); err != nil {
					t.Fatal(err)
				}
				at := fs.PathJoin(dir, name)
				if err := fs.Remove(at); err != nil {
					t.Fatal(err)
				}
				if now != nil {
					write(t, fs, at, now)
				}
				p, err := projections.Open(dir, id, projections.Options{FS: fs})
				switch {
				case err == nil:
					// The unsynced end of a log may be lost. The store then has an older cut.
					if p.StoredPosition()[0] == 300 && p.Digest() != digest || p.StoredPosition()[0]%50 != 0 {
						t.Errorf("%s/%s %s: opens at %v with digest %x", dir, name, what, p.StoredPosition(), p.Digest())
					}
					if p.StoredPosition()[0] == 0 && dir == "copy" {
						t.Errorf("%s/%s %s: opens as empty", dir, name, what)
					}
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				case projections.IsCorrupt(err):
					corrupt++
				default:
					t.Errorf("%s/%s %s: %v", dir, name, what, err)
				}
			}
		}
	}
	if corrupt == 0 || elsewhere == 0 {
		t.Errorf("%d damages were found corrupt, %d options were changed", corrupt, elsewhere)
	}
}

func content(t testing.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t testing.TB, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(bytes.Clone(data))
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
