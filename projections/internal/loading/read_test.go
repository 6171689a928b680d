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

// TestRead: each channel is read once, with the records that it has, in order of the ids. The lists
// of a channel that was named twice stay in the array.
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
	got, err := Read(named, func() (Seeker, error) { return db.NewIter(nil) })
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
	}
	for _, l := range all {
		if !slices.Contains(named, l) {
			t.Fatal("a list is no longer in the array")
		}
	}
}
