package snapshot_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// TestRoundTrip: a restore gives the store as of the cut. Folding from there gives the same as
// without a restore.
func TestRoundTrip(t *testing.T) {
	buckets(t, func(t *testing.T, open func() snapshot.Bucket) {
		dir := t.TempDir()
		r := snapshot.New(open(), snapshot.Options{})
		f := openStore(t, filepath.Join(dir, "partition-3"), nil)
		f.to(t, 3000)
		m, stats := create(t, r, f, filepath.Join(dir, "scratch"))
		if m.Position() != (projections.Position{3000}) || m.Digest != digestAt(t, 3000) || stats.UploadedBytes != m.Bytes() ||
			m.Identity() != identity() {
			t.Errorf("manifest %+v, stats %+v", m, stats)
		}
		f.to(t, 4000) // later records are not in the snapshot
		f.close(t)

		list, err := r.List(t.Context(), 3)
		if err != nil || len(list) != 1 || !list[0].Current {
			t.Fatalf("%+v, %v", list, err)
		}
		if err := list[0].Fits(identity()); err != nil {
			t.Error(err)
		}
		back := filepath.Join(dir, "back")
		var phases []snapshot.Phase
		if err := r.Download(t.Context(), list[0].Manifest, back, func(p snapshot.Progress) {
			if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
				phases = append(phases, p.Phase)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if len(phases) != 2 || phases[0] != snapshot.PhaseDownload || phases[1] != snapshot.PhaseCheck {
			t.Errorf("phases %v", phases)
		}
		g := openStore(t, back, nil)
		defer g.close(t)
		if g.p.Position() != (projections.Position{3000}) {
			t.Errorf("it came back at %v", g.p.Position())
		}
		g.to(t, 4000)
		if got, want := fmt.Sprintf("%x", g.p.Digest()), digestAt(t, 4000); got != want {
			t.Errorf("after folding on the digest is %s, without a snapshot %s", got, want)
		}
	})
}

// TestIncremental: the second snapshot uploads only new files, and one without changes uploads
// nothing.
func TestIncremental(t *testing.T) {
	dir := t.TempDir()
	b := openBucket(t, "file://"+filepath.Join(dir, "bucket"))
	r := snapshot.New(b, snapshot.Options{})
	f := openStore(t, filepath.Join(dir, "partition-3"), nil)
	defer f.close(t)
	f.to(t, 8_000)
	old, _ := create(t, r, f, filepath.Join(dir, "scratch"))
	f.to(t, 8_040)
	m, second := create(t, r, f, filepath.Join(dir, "scratch"))
	known := map[string]string{}
	for _, file := range old.Files {
		known[file.SHA256] = file.Object
	}
	var files, bytes int64
	for _, file := range m.Files {
		switch object, ok := known[file.SHA256]; {
		case !ok:
			files++
			bytes += file.Size
		case object != file.Object:
			t.Errorf("%s has the content of %s, and is %s", file.Name, object, file.Object)
		}
	}
	if second.UploadedFiles != files || second.UploadedBytes != bytes || files == second.Files {
		t.Errorf("%+v was uploaded, of which %d files with %d bytes are new", second, files, bytes)
	}
	before := keys(t, b, "")
	if _, s, err := r.Create(t.Context(), f.p, filepath.Join(dir, "scratch"), snapshot.CreateOptions{}); !errors.Is(err, snapshot.ErrUnchanged) || s.UploadedBytes != 0 {
		t.Errorf("without news: %v, %+v", err, s)
	}
	if after := keys(t, b, ""); len(after) != len(before) {
		t.Errorf("without news the bucket went from %d to %d objects", len(before), len(after))
	}
	if list, err := r.List(t.Context(), 3); err != nil || len(list) != 2 || list[0].Manifest.Digest != m.Digest {
		t.Errorf("%+v, %v", list, err)
	}
}
