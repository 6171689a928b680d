package receipts

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCondense: a user who read several times has one entry, with the furthest read. A read with
// threads has an entry beside it if it is less far.
func TestCondense(t *testing.T) {
	due := func(kind uint8, user, seq uint32, at int64) Due {
		return Due{Hash: 100 - user/2, Kind: kind, User: user, Seq: seq, At: at} // two users have the same hash
	}
	var condense Condenser
	for name, x := range map[string]struct{ all, want []Due }{
		"nothing": {},
		"the furthest": {
			[]Due{due(OutRead, 1, 9, 5), due(OutRead, 2, 3, 5), due(OutRead, 1, 4, 5), due(OutRead, 1, 9, 4)},
			[]Due{due(OutRead, 2, 3, 5), due(OutRead, 1, 9, 4)},
		},
		"users with the same hash": {
			[]Due{due(OutRead, 3, 1, 5), due(OutRead, 2, 1, 5), due(OutRead, 3, 2, 5), due(OutRead, 2, 2, 5)},
			[]Due{due(OutRead, 2, 2, 5), due(OutRead, 3, 2, 5)},
		},
		"what is delivered and viewed by itself, the earliest": {
			[]Due{due(OutViewed, 1, 2, 9), due(OutDelivered, 1, 2, 7), due(OutDelivered, 1, 1, 5), due(OutDelivered, 1, 2, 6)},
			[]Due{due(OutDelivered, 1, 1, 5), due(OutDelivered, 1, 2, 6), due(OutViewed, 1, 2, 9)},
		},
		"with threads, no less far": {
			[]Due{due(OutRead, 1, 4, 5), due(OutWithThreads, 1, 4, 6), due(OutRead, 2, 4, 6), due(OutViewed, 1, 4, 5)},
			[]Due{due(OutRead, 2, 4, 6), due(OutViewed, 1, 4, 5), due(OutWithThreads, 1, 4, 6)},
		},
		"with threads, less far": {
			[]Due{due(OutWithThreads, 1, 3, 6), due(OutRead, 1, 4, 7), due(OutWithThreads, 1, 2, 5)},
			[]Due{due(OutRead, 1, 4, 7), due(OutWithThreads, 1, 3, 6)},
		},
	} {
		if got := condense.Condense(slices.Clone(x.all), func(a, b uint32) int { return cmp.Compare(a, b) }); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}

// TestCondenseKeepsTheFurthest compares Condense with what its comment says, computed for each user
// and kind by itself.
func TestCondenseKeepsTheFurthest(t *testing.T) {
	var condense Condenser
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Due {
			user := rapid.Uint32Range(1, 5).Draw(t, "user")
			return Due{
				Hash: user % 2, User: user, Seq: rapid.Uint32Range(1, 4).Draw(t, "seq"),
				Kind: rapid.Uint8Range(OutRead, OutWithThreads).Draw(t, "kind"), At: rapid.Int64Range(1, 3).Draw(t, "at"),
			}
		}), 0, 30).Draw(t, "receipts")
		better := func(a, b Due) bool { return a.Seq > b.Seq || a.Seq == b.Seq && a.At < b.At }
		var want []Due
		for _, o := range all {
			upTo := o.Kind == OutRead || o.Kind == OutWithThreads
			beaten := slices.Contains(want, o) || slices.ContainsFunc(all, func(x Due) bool {
				if x.User != o.User {
					return false
				}
				return x.Kind == o.Kind && (upTo || x.Seq == o.Seq) && better(x, o) ||
					o.Kind == OutRead && x.Kind == OutWithThreads && x.Seq >= o.Seq
			})
			if !beaten {
				want = append(want, o)
			}
		}
		slices.SortFunc(want, func(a, b Due) int {
			return cmp.Or(cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.User, b.User), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Seq, b.Seq))
		})
		if got := condense.Condense(slices.Clone(all), func(a, b uint32) int { return cmp.Compare(a, b) }); !slices.Equal(got, want) {
			t.Fatalf("%v\ngot  %v\nwant %v", all, got, want)
		}
	})
}

// TestGatherDue: each channel's part has its receipts, in the order in which they came, without those
// of users who were erased after them.
func TestGatherDue(t *testing.T) {
	hash := func(user uint32) uint32 { return user * 7 }
	rapid.Check(t, func(t *rapid.T) {
		var list []Out
		var erased Erased
		groups, want := make([]Group, 4), make([][]Due, 4)
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			slot, user := rapid.Uint32Range(0, 3).Draw(t, "slot"), rapid.Uint32Range(1, 5).Draw(t, "user")
			if rapid.IntRange(0, 9).Draw(t, "erased") == 0 {
				erased.Add(slot, user, len(list))
				want[slot] = slices.DeleteFunc(want[slot], func(d Due) bool { return d.User == user })
				continue
			}
			o := Out{Slot: slot, User: user, Seq: rapid.Uint32Range(1, 9).Draw(t, "seq"), Kind: rapid.Uint8Range(OutRead, OutWithThreads).Draw(t, "kind"), At: 3}
			list = append(list, o)
			groups[slot].End++
			want[slot] = append(want[slot], Due{Hash: hash(user), User: user, Seq: o.Seq, Kind: o.Kind, At: o.At})
		}
		spent := 0
		due, from := GatherDue(make([]Due, 3, 8), list, groups, erased, hash, func(work int) { spent += work }), uint32(0)
		for i, g := range groups {
			if got := due[from:g.End]; !slices.Equal(got, want[i]) {
				t.Fatalf("channel %d has %v, want %v", i, got, want[i])
			}
			from = g.End
		}
		if int(from) != len(due) || spent < len(list)/gatherEach {
			t.Fatalf("%d receipts of %d belong to a channel; %d of work for %d receipts", from, len(due), spent, len(list))
		}
	})
}
