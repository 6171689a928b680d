package projections

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A partition that is opened read-only gives the answers of the store, has its digest, and leaves
// every file unchanged.
func TestOpenReadOnly(t *testing.T) {
	fs := vfs.NewMem()
	if _, err := OpenReadOnly("store", fs); err == nil {
		t.Fatal("a store that is not there was opened")
	}
	p := mustOpen(t, fs, testIdentity())
	formatsLog(t, p)
	if _, err := OpenReadOnly("store", fs); err == nil {
		t.Fatal("a store that is in use was opened")
	}
	if _, err := Open("store", testIdentity(), Options{FS: fs}); err == nil || IsCorrupt(err) || !strings.Contains(err.Error(), "in use by another process") {
		t.Fatalf("a second owner of the store: %v", err)
	}
	users := p.Users("c")
	if len(users) < 2 || !slices.IsSorted(users) || p.Users("nowhere") != nil {
		t.Fatalf("users %q, and of a channel that is not there %q", users, p.Users("nowhere"))
	}
	var want []View
	for _, u := range users {
		v, _ := p.View(u, "c")
		want = append(want, v)
	}
	position, digest := p.rules.Position(), p.rules.Digest()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, fs)
	r, err := OpenReadOnly("store", fs)
	if err != nil {
		t.Fatal(err)
	}
	if r.rules.Position() != position || r.rules.Digest() != digest || r.Identity() != testIdentity() || !slices.Equal(r.Users("c"), users) {
		t.Errorf("position %v, digest %x, %+v, users %q", r.rules.Position(), r.rules.Digest(), r.Identity(), r.Users("c"))
	}
	for i, u := range users {
		if v, ok := r.View(u, "c"); !ok || v.Unread != want[i].Unread || v.LastRead != want[i].LastRead || v.Stamp != want[i].Stamp {
			t.Errorf("%s: %+v, want %+v", u, v, want[i])
		}
	}
	if err := errors.Join(r.rules.Err(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if after := contents(t, fs); !slices.Equal(before, after) {
		t.Errorf("looking changed the store: %v, before %v", after, before)
	}

	for _, name := range before {
		if name, _, _ := strings.Cut(name, " "); strings.HasPrefix(name, "MANIFEST") {
			if err := fs.Remove("store/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := OpenReadOnly("store", fs); !IsCorrupt(err) || !strings.Contains(err.Error(), "move the directory away") {
		t.Errorf("a store without its manifest: %v", err)
	}

	empty := vfs.NewMem()
	if err := mustOpen(t, empty, testIdentity()).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly("store", empty); !errors.Is(err, ErrEmpty) {
		t.Errorf("a store that nothing was written to: %v", err)
	}
}

// contents returns the names and bytes of a store's files.
func contents(t *testing.T, fs vfs.FS) (list []string) {
	t.Helper()
	names, err := fs.List("store")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		f, err := fs.Open(fs.PathJoin("store", name))
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, info.Size())
		if n, err := f.ReadAt(b, 0); n < len(b) {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		list = append(list, name+" "+string(b))
	}
	return list
}
