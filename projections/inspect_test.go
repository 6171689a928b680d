package projections

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// TestInspect reads an existing store, counts its records, and detects one that does not fit the
// digest.
func TestInspect(t *testing.T) {
	fs := vfs.NewMem()
	if _, err := Inspect("store", fs); err == nil {
		t.Fatal("a store that is not there was inspected")
	}
	p := mustOpen(t, fs, testIdentity())
	formatsLog(t, p)
	want, digest := p.rules.Position(), p.rules.Digest()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := Inspect("store", fs)
	if err != nil {
		t.Fatal(err)
	}
	if x.Position != want || x.Digest != digest || x.Identity != testIdentity() || x.LogTimes[0] != 3000 {
		t.Fatalf("%+v", x)
	}
	counts := map[string]int64{}
	for _, r := range x.Records {
		counts[r.Kind] = r.Count
	}
	if counts["channels"] != 1 || counts["message index"] != 12 || counts["log blocks"] != 1 || counts["waiting reads"] != 2 {
		t.Fatalf("%v", counts)
	}
	db, err := pebble.Open("store", pebbleOptions("store", Options{FS: fs}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Delete(keys.AppendIndex(nil, []byte("c"), []byte("m2")), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect("store", fs); err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Fatalf("a record is missing: %v", err)
	}
}

// TestInspectOfANewStore: a store that was created and never written is empty. A store whose tables
// have lost their manifest is not.
func TestInspectOfANewStore(t *testing.T) {
	fs := vfs.NewMem()
	if err := mustOpen(t, fs, testIdentity()).Close(); err != nil {
		t.Fatal(err)
	}
	if x, err := Inspect("store", fs); !errors.Is(err, ErrEmpty) {
		t.Fatalf("%+v, %v", x, err)
	}
	f, err := fs.Create("store/000099.sst", vfs.WriteCategoryUnspecified)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if x, err := Inspect("store", fs); err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Errorf("tables without a manifest: %+v, %v", x, err)
	}
}

func TestInspectHeader(t *testing.T) {
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	formatsLog(t, p)
	want := p.rules.Position()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err := InspectHeader("store", fs); err != nil || x.Position != want || x.Identity != testIdentity() || x.Records != nil {
		t.Errorf("%+v, %v", x, err)
	}
}
