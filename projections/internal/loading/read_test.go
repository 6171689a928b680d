package loading

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// backwards is an iterator that must be moved to the channel with the largest id first.
type backwards struct {
	*pebble.Iterator
	t    *testing.T
	last []byte
}

func (b *backwards) SeekGE(key []byte) bool       { b.check(key); return b.Iterator.SeekGE(key) }
func (b *backwards) SeekPrefixGE(key []byte) bool { b.check(key); return b.Iterator.SeekPrefixGE(key) }

func (b *backwards) check(key []byte) {
	id, _, _ := bytes.Cut(key[1:], []byte{0})
	if b.last != nil && bytes.Compare(id, b.last) > 0 {
		b.t.Errorf("%q is read after %q", id, b.last)
	}
	b.last = bytes.Clone(id)
}

// TestRead: each channel is read once, with the records that it has. The lists are in the order of their
// ids, and reading begins with the last of them. The other lists of a channel that was named several
// times stay in the array.
func TestRead(t *testing.T) {
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	const channels = 100 // more than one goroutine reads
	id := func(i int) []byte { return fmt.Appendf(nil, "c%03d", i) }
	for i := range channels {
		for page := range i % 3 { // some have no record but their own
			if err := db.Set(keys.AppendPage(nil, id(i), uint32(page)), id(i), nil); err != nil { //nolint:gosec // small
				t.Fatal(err)
			}
		}
		if err := db.Set(keys.AppendHot(nil, id(i), keys.HotChannel), id(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	var named []*List
	for i := range 3 * channels {
		i = i * 7 % channels
		l := &List{ID: id(i)}
		if i%2 == 0 {
			l.pages = uint32(i % 3) //nolint:gosec // small
		}
		named = append(named, l)
	}
	all := slices.Clone(named)
	got, err := Read(named, func() (Seeker, error) {
		it, err := db.NewIter(nil)
		return &backwards{Iterator: it, t: t}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != channels {
		t.Fatalf("%d lists of %d channels", len(got), channels)
	}
	for i, l := range got {
		if !bytes.Equal(l.ID, id(i)) || l.Len() != 1+i%3 {
			t.Errorf("list %d is of %s and has %d records", i, l.ID, l.Len())
		}
		last := []byte(nil)
		for ok := l.First(); ok; ok = l.Next() {
			if !bytes.Equal(l.Value(), id(i)) || bytes.Compare(l.Key(), last) <= 0 {
				t.Errorf("list %d has the record %q = %q", i, l.Key(), l.Value())
			}
			last = l.Key()
		}
	}
	for _, l := range all {
		if !slices.Contains(named, l) {
			t.Fatal("a list is no longer in the array")
		}
	}
}
