package projections

import (
	"encoding/hex"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
)

// TestViewedFormats pins the bytes of views: an entry of its own kind, which an earlier read does
// not replace, and waiting views among the open reads. From the first view on, even of a message
// that does not exist, the store's format tells older builds that they cannot read it.
func TestViewedFormats(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob")
	view := func(user string, ids ...string) {
		f.setting("c", user, events.Read{Kind: events.KindMessagesViewed, IDs: idsOf(ids)})
	}
	view("ann", "m2")
	if got := f.format(t); got != identity.CustomizedFormat || mustStored(t, p, "Cc\x00rann")[0] != 8 {
		t.Errorf("the format is %d, what waits %x", got, mustStored(t, p, "Cc\x00rann"))
	}
	f.post("c", "m1", "bob", "")
	f.post("c", "m2", "bob", "")
	f.readUpTo("c", "", "ann", "m2")
	view("ann", "m1")
	view("bob", "m1") // its sender
	f.store(t)
	if got, want := hex.EncodeToString(mustStored(t, p, "Rc\x00\x00\x00\x00\x00\x00\x00\x00\x00")), "d00f0100ff0f000100"; got != want {
		t.Errorf("the block is %s, want %s", got, want)
	}
	v, ok := p.Receipts("c", "m1", 0, 10)
	if !ok || v.Viewed != 1 || len(v.List) != 1 || !v.List[0].Viewed || !v.List[0].Read {
		t.Errorf("the receipts of m1 are %+v", v)
	}
	if v, _ := p.Receipts("c", "m1", 1, 10); v.Viewed != 1 || len(v.List) != 0 {
		t.Errorf("without who viewed on the page they are %+v", v)
	}
	f.setting("c", "ann", events.Read{Kind: events.KindUserErased})
	view("ann", "m1") // never in any list
	f.store(t)
	if _, _, err := p.db.Get([]byte("Rc\x00\x00\x00\x00\x00\x00\x00\x00\x00")); err == nil {
		t.Error("the views of an erased user are still stored")
	}
}
