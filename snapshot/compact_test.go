package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// compactor is a partition that is not busy.
type compactor struct{ *projections.Partition }

func (s compactor) CompactHot(ctx context.Context, has func(name string, size uint64) bool) (projections.Compacted, error) {
	return s.Partition.CompactHot(ctx, has, func() string { return "" })
}

// TestCompactHot: a store is compacted before the first snapshot of its partition, and not before later
// ones, also not if it was restored from one. The store of another node, which folded the same log, is
// compacted before its first snapshot. No record changes.
func TestCompactHot(t *testing.T) {
	dir := t.TempDir()
	r := snapshot.New(openBucket(t, "file://"+filepath.Join(dir, "bucket")), snapshot.Options{})
	compactHot := func(what string, f *folder, want bool) {
		t.Helper()
		before, digest := dump(t, f.p), f.p.Digest()
		did, err := r.CompactHot(t.Context(), identity().Partition, compactor{f.p})
		if err != nil || did.Done != want {
			t.Errorf("%s: %+v, %v", what, did, err)
		}
		if !bytes.Equal(dump(t, f.p), before) || f.p.Digest() != digest {
			t.Errorf("%s: the records are others", what)
		}
	}
	f := openStore(t, filepath.Join(dir, "store"), nil)
	for end := int64(1000); end <= 20_000; end += 1000 {
		f.to(t, end)
	}
	compactHot("the first", f, true)
	create(t, r, f, filepath.Join(dir, "scratch"))
	f.channels = 1 // so that little changes
	for end := int64(20_001); end <= 20_002; end++ {
		f.to(t, end)
		compactHot("a later one", f, false)
		if _, s := create(t, r, f, filepath.Join(dir, "scratch")); 5*s.UploadedBytes > s.Bytes {
			t.Errorf("of %d bytes %d are uploaded", s.Bytes, s.UploadedBytes)
		}
	}
	f.close(t)

	list, err := r.List(t.Context(), identity().Partition)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	if err := r.Download(t.Context(), list[0].Manifest, filepath.Join(dir, "restored"), nil); err != nil {
		t.Fatal(err)
	}
	restored := openStore(t, filepath.Join(dir, "restored"), nil)
	restored.channels = 1
	restored.to(t, 20_003)
	compactHot("a restored store", restored, false)
	create(t, r, restored, filepath.Join(dir, "scratch"))
	restored.close(t)

	other := openStore(t, filepath.Join(dir, "other"), nil)
	for end := int64(700); end <= 21_000; end += 700 {
		other.to(t, end)
	}
	compactHot("another node's store", other, true)
	create(t, r, other, filepath.Join(dir, "scratch"))
	compactHot("its next one", other, false)
	other.close(t)
}

// asked is a store that is asked what a copy has of it.
type asked func(has func(name string, size uint64) bool)

func (a asked) CompactHot(_ context.Context, has func(name string, size uint64) bool) (projections.Compacted, error) {
	a(has)
	return projections.Compacted{}, nil
}

// TestWhatACopyHas: a copy has the tables of the current manifest, by name and size, and none if there
// is no manifest or if it is damaged.
func TestWhatACopyHas(t *testing.T) {
	dir := t.TempDir()
	b := openBucket(t, "file://"+filepath.Join(dir, "bucket"))
	r := snapshot.New(b, snapshot.Options{})
	n := identity().Partition
	f := openStore(t, filepath.Join(dir, "store"), nil)
	f.to(t, 1000)
	m, _ := create(t, r, f, filepath.Join(dir, "scratch"))
	f.close(t)
	for _, c := range []struct {
		partition int32
		damaged   bool
		want      bool
	}{{n, false, true}, {n + 1, false, false}, {n, true, false}} {
		if c.damaged {
			if err := b.Put(t.Context(), fmt.Sprintf("partition-%d/current.manifest", n), bytes.NewReader([]byte("{}")), 2); err != nil {
				t.Fatal(err)
			}
		}
		times := 0
		if _, err := r.CompactHot(t.Context(), c.partition, asked(func(has func(string, uint64) bool) {
			times++
			for i := range m.Files {
				name, size := m.Files[i].Name, uint64(m.Files[i].Size)
				if has(name, size) != c.want || has(name, size+1) || has("other-"+name, size) {
					t.Errorf("%+v: the copy has %s: %t, with a byte more %t", c, name, has(name, size), has(name, size+1))
				}
			}
		})); err != nil || times != 1 {
			t.Errorf("%+v: asked %d times, %v", c, times, err)
		}
	}
}
