package cold

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/arena"
)

// TestPropertySet: channels leave, come back and are dropped in any order. The lists of users always
// have exactly their channels, and list only those that are cold.
func TestPropertySet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var blobs arena.Blobs
		s := Set{Blobs: &blobs}
		blobs.Put([]byte("of another kind"))
		listed := map[string]map[string]bool{} // by user, channels that are cold or were
		away := map[string]bool{}              // channels that are cold
		channel := rapid.StringMatching(`c[0-9]{1,2}`)
		user := rapid.StringMatching(`u[0-3]`)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			id := channel.Draw(t, "channel")
			ref := s.Of([]byte(id))
			switch {
			case away[id] && rapid.Bool().Draw(t, "returns"):
				s.Returns(ref, 7)
				delete(away, id)
			case away[id]:
			case ref != 0 && rapid.IntRange(0, 4).Draw(t, "drop") == 0:
				for u, of := range listed {
					if of[id] {
						if last := s.Unlist(hash([]byte(u)), ref); last != (len(of) == 1) {
							t.Fatalf("%s lost its list: %v", u, last)
						}
						delete(of, id)
					}
				}
				s.Drop(ref)
			default:
				ref = s.Leaves([]byte(id), false, true, 5)
				away[id] = true
				for _, u := range rapid.SliceOfDistinct(user, rapid.ID[string]).Draw(t, "users") {
					if listed[u] == nil {
						listed[u] = map[string]bool{}
					}
					s.RowLeaves(ref, true, 3, 2)
					if !listed[u][id] {
						if first := s.List(hash([]byte(u)), ref); first != (len(listed[u]) == 0) {
							t.Fatalf("%s has a new list: %v", u, first)
						}
						listed[u][id] = true
					}
				}
			}
		}
		if s.Count != len(away) {
			t.Fatalf("%d channels are cold, it counts %d", len(away), s.Count)
		}
		users := 0
		for u, of := range listed {
			if len(of) > 0 {
				users++
			}
			if s.MayKnow(hash([]byte(u))) != (len(of) > 0) {
				t.Fatalf("%s is known: %v", u, len(of) == 0)
			}
			want := slices.Sorted(maps.Keys(of))
			want = slices.DeleteFunc(want, func(id string) bool { return !away[id] })
			var got []string
			s.Each(hash([]byte(u)), func(ref uint32, c *Channel) { got = append(got, string(blobs.Get(c.ID))) })
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("the cold channels of %s are %v, want %v", u, got, want)
			}
		}
		if s.UserCount != users {
			t.Fatalf("%d users have a list, it counts %d", users, s.UserCount)
		}
		for id := range away {
			if !s.Has([]byte(id)) || !s.MayHave([]byte(id)) {
				t.Fatalf("%s is cold, and the set does not have it", id)
			}
		}
	})
}
