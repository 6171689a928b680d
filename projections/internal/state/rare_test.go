package state

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

func begun() *State {
	p := &State{}
	p.Begin(identity.DefaultSettings(), nil)
	return p
}

func implied(r *Row) Rare {
	return Rare{LastR: r.lastRead(), Public: r.Pointer, PublicAt: r.At(), Far: r.Pointer}
}

// TestARowImpliesTheRest: whatever is done with a row, LastR, Public, Far and RareOf return what was set
// last. A row keeps a Rare only if it does not imply it.
func TestARowImpliesTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := begun()
		r, want := &Row{}, Rare{}
		small := rapid.Uint32Range(0, 3)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				p.Move(r, small.Draw(t, "to"), int64(small.Draw(t, "at")), int64(small.Draw(t, "event")))
			case 1:
				want.LastR = int64(small.Draw(t, "last read"))
				p.EnsureRare(r).LastR = want.LastR
			case 2:
				want.Public, want.PublicAt = small.Draw(t, "public"), int64(small.Draw(t, "public at"))
				x := p.EnsureRare(r)
				x.Public, x.PublicAt = want.Public, want.PublicAt
			case 3:
				want.Far = small.Draw(t, "far")
				p.EnsureRare(r).Far = want.Far
			case 4:
				want.Marks = small.Draw(t, "marks")
				p.EnsureRare(r).Marks = want.Marks
			case 5:
				r.Place(r.Pointer+1, 7, 8)
				if r.Rare == 0 {
					want = implied(r)
				}
			case 6:
				p.SetWhole(r, want)
			}
			if rapid.Bool().Draw(t, "imply") {
				if p.Imply(r); (r.Rare == 0) != (want == implied(r)) {
					t.Fatalf("%+v, which implies %+v, has a Rare: %t", want, implied(r), r.Rare != 0)
				}
			}
			public, at := p.Public(r)
			if got := (Rare{LastR: p.LastR(r), Public: public, PublicAt: at, Far: p.Far(r), Marks: p.RareOf(r).Marks}); got != want || *p.Whole(r) != want {
				t.Fatalf("got %+v and %+v, want %+v", got, p.Whole(r), want)
			}
		}
		if p.DropRare(r); p.Rares.Len() != 0 {
			t.Fatalf("%d are left", p.Rares.Len())
		}
	})
}

// TestEventHas56Bits: a row keeps the record of its pointer exactly.
func TestEventHas56Bits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(0, MaxEvent).Draw(t, "event")
		r := Row{Flags: RowMember}
		if r.Place(1, 2, want); r.Event() != want || r.Flags != RowMember {
			t.Fatalf("%d became %d, flags %b", want, r.Event(), r.Flags)
		}
	})
}

// TestARowRemembersWhatItShowed: each of the two messages has the id that was shown last, also while the
// row is listed.
func TestARowRemembersWhatItShowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := begun()
		ref := p.Rows.Alloc()
		r := p.Rows.At(ref)
		seqs, ids := [2]uint32{}, [2][]byte{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch which := rapid.IntRange(0, 1).Draw(t, "which"); rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				seqs[which], ids[which] = rapid.Uint32Range(1, 9).Draw(t, "seq"), rapid.SliceOfN(rapid.Byte(), 1, keys.MaxID).Draw(t, "id")
				p.Show(r, which, seqs[which], ids[which])
			case 2:
				p.List(ref, r)
			case 3:
				p.Unlist()
			}
			if listed := p.Listed(r); listed != nil && listed.Ref != ref {
				t.Fatalf("%+v is listed for row %d", listed, ref)
			}
			for which := range seqs {
				if id, known := p.ShownID(r, which, seqs[which]); seqs[which] != 0 && (!known || !bytes.Equal(id, ids[which])) {
					t.Fatalf("%d: %x, %t; want %x", which, id, known, ids[which])
				}
				if id, known := p.ShownID(r, which, 10); known {
					t.Fatalf("%x is known of a message that was not shown", id)
				}
			}
		}
		if p.ForgetShown(r); p.Blobs.Live() != 0 {
			t.Fatalf("%d bytes are left", p.Blobs.Live())
		}
	})
}
