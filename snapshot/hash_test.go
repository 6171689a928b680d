package snapshot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestHashesOfTablesThatWentAreForgotten: a node that takes snapshots for months keeps one hash for
// each current table, and reads no table twice.
func TestHashesOfTablesThatWentAreForgotten(t *testing.T) {
	fs := vfs.NewMem()
	r := New(nil, Options{FS: fs})
	checkpoint := func(dir string, tables ...int) (hashes []string) {
		t.Helper()
		if err := fs.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, n := range tables {
			from := fmt.Sprintf("%s-%06d", dir, n)
			if _, err := fs.Stat(from); err != nil {
				f, err := fs.Create(from, vfs.WriteCategoryUnspecified)
				if err == nil {
					_, err = f.Write([]byte(from))
				}
				if err != nil || f.Close() != nil {
					t.Fatal(err)
				}
			}
			if err := fs.Link(from, fs.PathJoin(dir, fmt.Sprintf("%06d.sst", n))); err != nil {
				t.Fatal(err)
			}
		}
		files, err := r.files(dir)
		if err == nil {
			err = r.hashAll(dir, files, true, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			hashes = append(hashes, f.SHA256)
		}
		return hashes
	}
	other := checkpoint("other", 1, 2)
	first := checkpoint("scratch", 1, 2, 3)
	for n := range 20 {
		if again := checkpoint("scratch", 3, 4+n); again[0] != first[2] || slices.Contains(first, again[1]) {
			t.Fatalf("tables 1 to 3 had the hashes %v, table 3 and a new one have %v", first, again)
		}
	}
	if len(r.hashes) != 4 {
		t.Errorf("%d hashes are remembered, of checkpoints with 2 tables each", len(r.hashes))
	}
	if again := checkpoint("other", 1, 2); !slices.Equal(again, other) {
		t.Errorf("hashes %v, before %v", again, other)
	}
}
