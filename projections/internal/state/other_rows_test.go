package state

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/arena"
)

// TestRowsOfAChannel: whatever comes and goes, RowsOf has each row of the channel once, members in the
// order of their ordinals, and TakeRow empties it.
func TestRowsOfAChannel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := begun()
		ci, c := p.NewChannel([]byte("general"))
		var members []uint32
		others := map[uint32]bool{}
		user := func() uint32 {
			return p.EnsureUser(fmt.Appendf(nil, "user-%d", rapid.IntRange(0, 30).Draw(t, "user")))
		}
		check := func() {
			t.Helper()
			var got []uint32
			for ref, r := range p.RowsOf(c) {
				if i := len(got); i < len(members) && (ref != members[i] || r.Ord() != uint32(i)) {
					t.Fatalf("row %d has ordinal %d, want row %d", ref, r.Ord(), members[i])
				} else if i >= len(members) && (!others[ref] || r.Ord() != NoOrdinal) {
					t.Fatalf("row %d with ordinal %d is not one of the others", ref, r.Ord())
				}
				if slices.Contains(got, ref) {
					t.Fatalf("row %d is there twice", ref)
				}
				if got = append(got, ref); p.RowOf(ci, r.User) != ref {
					t.Fatalf("row %d is not found", ref)
				}
			}
			if len(got) != len(members)+len(others) || len(p.OthersOf(c)) != len(others) || (c.Others == 0) != (len(others) == 0) {
				t.Fatalf("%d rows, of which %d others in list %d, want %d and %d", len(got), len(p.OthersOf(c)), c.Others, len(members)+len(others), len(others))
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				if ref, r := p.EnsureRow(ci, user()); r.Ord() == NoOrdinal {
					others[ref] = true
				}
			case 1:
				if ref, r := p.EnsureRowToJoin(ci, user()); r.Ord() == NoOrdinal {
					p.GiveOrdinal(c, ref)
					members = append(members, ref)
					delete(others, ref)
				}
			case 2:
				if list := p.OthersOf(c); len(list) > 0 {
					ref := list[rapid.IntRange(0, len(list)-1).Draw(t, "leaves")]
					r := p.Rows.At(ref)
					p.UnlistOther(c, ref)
					p.PairTable.Remove(arena.PairHash(ci, r.User), ref)
					*r = Row{}
					delete(others, ref)
				}
			case 3:
				if rapid.IntRange(0, 9).Draw(t, "disband") == 0 {
					p.Disband(c)
					for _, ref := range members {
						others[ref] = true
					}
					members = nil
				}
			}
			check()
		}
		for ref := p.TakeRow(c); ref != 0; ref = p.TakeRow(c) {
			if n := len(members); others[ref] {
				delete(others, ref)
			} else if n > 0 && members[n-1] == ref {
				members = members[:n-1]
			} else {
				t.Fatalf("row %d was taken, which the channel does not have", ref)
			}
			check()
		}
		if len(members)+len(others) != 0 {
			t.Fatalf("%d rows were not taken", len(members)+len(others))
		}
	})
}

// TestTooManyPairs: a partition fails when it has more pairs in memory than the table has references.
func TestTooManyPairs(t *testing.T) {
	p := begun()
	if p.insertPair(arena.MaxRef + 1); p.Err() == nil {
		t.Error("a pair was lost without an error")
	}
}
