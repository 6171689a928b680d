package history

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/wire"
)

// draw draws an entry whose fields agree with its flags, as the rules create them.
func draw(t *rapid.T) Entry {
	text := func(label string) []byte {
		if b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, label); len(b) > 0 {
			return b
		}
		return []byte{}
	}
	e := Entry{
		Seq: rapid.Uint32Min(1).Draw(t, "seq"), Flags: rapid.Uint8().Draw(t, "flags"), Time: rapid.Int64Range(-1<<50, 1<<50).Draw(t, "time"),
		Offset: rapid.Int64Min(0).Draw(t, "offset"), ID: text("id"), Sender: text("sender"), Preview: text("preview"),
	}
	e.LogTime = e.Time + rapid.Int64Range(0, 1<<50).Draw(t, "ahead")
	before := func(label string) uint32 { return rapid.Uint32Range(0, e.Seq-1).Draw(t, label) }
	e.PrevOwn = before("previous own")
	if e.Flags&Reply != 0 {
		e.Thread, e.PrevIn = text("thread"), before("previous in thread")
	}
	if e.Flags&MentionsUsers != 0 {
		e.Users = text("users")
	}
	if e.Flags&Contrary != 0 {
		e.ReadBefore = before("read before")
		if e.Flags&Reply != 0 {
			e.ReadBeforeIn = before("read before in thread")
		}
	}
	return e
}

// TestEntryBytes: decoding an encoded entry gives the same entry. An entry that is cut short or too
// long is refused.
func TestEntryBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := draw(t)
		b := e.Append([]byte("before"))
		if !bytes.HasPrefix(b, []byte("before")) {
			t.Fatal("Append wrote over what was there")
		}
		b = b[len("before"):]
		var got Entry
		if err := got.Decode(e.Seq, b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, e) {
			t.Fatalf("got  %+v\nwant %+v", got, e)
		}
		if err := got.Decode(e.Seq, append(bytes.Clone(b), 0)); err == nil {
			t.Fatal("an entry with a byte too many was taken")
		}
		if cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut at"); got.Decode(e.Seq, bytes.Clone(b[:cut])) == nil {
			t.Fatalf("the first %d of %d bytes were taken for an entry", cut, len(b))
		}
	})
}

// TestCounted: silent messages never count, and replies count in the channel only if they are
// broadcast.
func TestCounted(t *testing.T) {
	for flags, want := range map[uint8]bool{
		0: true, Silent: false, Reply: false, Reply | Broadcast: true, Silent | Reply | Broadcast: false, Silent | Reply: false,
		Broadcast: true, Deleted: true, MentionsAll | Grew | Contrary: true,
	} {
		if e := (Entry{Flags: flags}); e.Counted() != want {
			t.Errorf("flags %b: counted is %v, want %v", flags, e.Counted(), want)
		}
	}
}

// TestReads: posting reads as the setting says, unless the message states the contrary.
func TestReads(t *testing.T) {
	for _, setting := range []bool{false, true} {
		plain, contrary := Entry{}, Entry{Flags: Contrary}
		if plain.Reads(setting) != setting || contrary.Reads(setting) == setting {
			t.Errorf("setting %v: plain %v, contrary %v", setting, plain.Reads(setting), contrary.Reads(setting))
		}
	}
}

// TestUsers: a list has each id once, in the order in which it was first given, for any length.
func TestUsers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "ids")
		var ids [][]byte
		var want []string
		for range n {
			id := fmt.Sprintf("u%d", rapid.IntRange(0, 40).Draw(t, "id"))
			ids = append(ids, []byte(id))
			if !slices.Contains(want, id) {
				want = append(want, id)
			}
		}
		var got []string
		EachUser(AppendUsers(nil, ids), func(id []byte) { got = append(got, string(id)) })
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestUsersCutShort: a list that is cut short yields its whole ids, and at most one empty id.
func TestUsersCutShort(t *testing.T) {
	list := wire.AppendBytes(wire.AppendBytes(nil, []byte("ann")), []byte("bob"))
	var got []string
	EachUser(list[:len(list)-1], func(id []byte) { got = append(got, string(id)) })
	if len(got) == 0 || got[0] != "ann" || slices.Contains(got, "bob") || len(got) > 2 {
		t.Errorf("got %q", got)
	}
}
