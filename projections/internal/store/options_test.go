package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSurvey: a directory has tables, or state without tables, or a crash left it while the store
// was created. Survey removes the markers of such a crash.
func TestSurvey(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string
		tables bool
		left   []string
	}{
		"empty":          {nil, false, nil},
		"tables":         {[]string{"000004.sst", "marker.manifest.000001"}, true, []string{"000004.sst", "marker.manifest.000001"}},
		"a log":          {[]string{"000002.log", "marker.x"}, false, []string{"000002.log", "marker.x"}},
		"a manifest":     {[]string{"MANIFEST-000001", "marker.x"}, false, []string{"MANIFEST-000001", "marker.x"}},
		"nothing folded": {[]string{"LOCK", "OPTIONS-000003", "marker.x", "marker.y"}, false, []string{"LOCK", "OPTIONS-000003"}},
	} {
		fs := vfs.NewMem()
		if err := fs.MkdirAll("dir", 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.files {
			_ = create(t, fs, fs.PathJoin("dir", f), "").Close()
		}
		tables, err := Survey(fs, "dir")
		if err != nil || tables != c.tables {
			t.Errorf("%s: tables %v, %v", name, tables, err)
		}
		left, _ := fs.List("dir")
		if slices.Sort(left); !slices.Equal(left, c.left) {
			t.Errorf("%s: %v is left, want %v", name, left, c.left)
		}
	}
	if tables, err := Survey(vfs.NewMem(), "nowhere"); tables || err != nil {
		t.Errorf("of no directory: %v, %v", tables, err)
	}
}

// TestOpenReadOnly: OpenReadOnly changes nothing, and creates nothing if there is no store.
func TestOpenReadOnly(t *testing.T) {
	fs := vfs.NewMem()
	if _, _, err := OpenReadOnly("dir", &pebble.Options{FS: fs}); err == nil {
		t.Error("a store that is not there was opened")
	}
	if names, err := fs.List("dir"); err == nil {
		t.Errorf("it made %v", names)
	}
	db, err := pebble.Open("dir", &pebble.Options{FS: fs})
	if err == nil {
		err = errors.Join(db.Set([]byte("a"), []byte("1"), pebble.Sync), db.Flush(), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	before, _ := fs.List("dir")
	db, tables, err := OpenReadOnly("dir", &pebble.Options{FS: fs})
	if err != nil || !tables {
		t.Fatalf("tables %v, %v", tables, err)
	}
	if err := db.Set([]byte("b"), nil, nil); err == nil {
		t.Error("it can be written to")
	}
	_ = db.Close()
	after, _ := fs.List("dir")
	slices.Sort(before)
	if slices.Sort(after); !slices.Equal(before, after) {
		t.Errorf("files before %v, after %v", before, after)
	}
	for _, name := range before {
		if fs.PathBase(name)[0] == 'M' {
			if err := fs.Remove(fs.PathJoin("dir", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var corrupt *CorruptError
	if _, _, err = OpenReadOnly("dir", &pebble.Options{FS: fs}); !errors.As(err, &corrupt) || corrupt.Dir != "dir" {
		t.Errorf("without its manifest: %v", err)
	}
}
