package group

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// checkStandbys fails unless each number has an owner, and standbys on other members as far as
// there are enough members.
func checkStandbys(t *testing.T, n int32, s sharing, standbys int) {
	t.Helper()
	for p := range n {
		owners, tails, warms := 0, 0, 0
		for m := range s.owned {
			owns, stands, warm := slices.Contains(s.owned[m], p), slices.Contains(s.standby[m], p), slices.Contains(s.warming[m], p)
			if owns && (stands || warm) || stands && warm {
				t.Errorf("member %d has %d twice: %+v", m, p, s)
			}
			for _, has := range []struct {
				it bool
				n  *int
			}{{owns, &owners}, {stands, &tails}, {warm, &warms}} {
				if has.it {
					*has.n++
				}
			}
		}
		if owners != 1 || warms > 1 || tails != min(standbys, len(s.owned)-1-warms) {
			t.Errorf("number %d has %d owners, %d standbys and %d who warm it up: %+v", p, owners, tails, warms, s)
		}
	}
	for _, lists := range [][][]int32{s.owned, s.standby, s.warming} {
		for _, numbers := range lists {
			if !slices.IsSorted(numbers) {
				t.Errorf("%v is not sorted", numbers)
			}
		}
	}
}

// TestStandbyIsPreferredWhenTheOwnerIsGone: a standby takes precedence over balance, and over a
// member with the store on disk.
func TestStandbyIsPreferredWhenTheOwnerIsGone(t *testing.T) {
	members := []candidate{
		{owned: []int32{0, 1}, generation: 3, at: map[int32]int64{0: 50, 1: 50, 2: 900, 3: 950}},
		{owned: []int32{4}, generation: 3, stores: []int32{2, 3}, at: map[int32]int64{4: 70}},
	}
	s := spread(5, members, spreadRules{standbys: 1, near: 100})
	if want := [][]int32{{0, 1, 2, 3}, {4}}; !reflect.DeepEqual(s.owned, want) {
		t.Errorf("owned are %v, want %v", s.owned, want)
	}
	// The first member owns too many, and the second member warms one of them up before it moves.
	// The numbers 0 and 1 are at 5000 here: at 50 any member would be near enough to take them at
	// once.
	s = spread(5, []candidate{
		{owned: []int32{0, 1, 2, 3}, generation: 4, at: map[int32]int64{0: 5000, 1: 5000, 2: 900, 3: 950}},
		{owned: []int32{4}, generation: 4, stores: []int32{2, 3}, at: map[int32]int64{4: 70}},
	}, spreadRules{standbys: 1, near: 100})
	if want := [][]int32{nil, {3}}; !reflect.DeepEqual(s.warming, want) {
		t.Errorf("warming are %v, want %v: %+v", s.warming, want, s)
	}
	checkStandbys(t, 5, s, 1)
}

// TestFurthestStandbyWins: of two standbys, the one that is far behind does not become the owner.
func TestFurthestStandbyWins(t *testing.T) {
	s := spread(1, []candidate{{at: map[int32]int64{0: 10}}, {}, {at: map[int32]int64{0: 10_000}}}, spreadRules{near: 100})
	if want := [][]int32{nil, nil, {0}}; !reflect.DeepEqual(s.owned, want) {
		t.Errorf("owned are %v, want %v", s.owned, want)
	}
}

// TestMoveWaits: the old owner keeps a number until the new one is near, and the same member keeps
// warming it up until then.
func TestMoveWaits(t *testing.T) {
	members := []candidate{
		{owned: []int32{0, 1, 2, 3}, generation: 3, at: map[int32]int64{0: 1000, 1: 1000, 2: 1000, 3: 1000}},
		{generation: -1},
	}
	rules := spreadRules{near: 100}
	first := spread(4, members, rules)
	if want := [][]int32{{0, 1, 2, 3}, nil}; !reflect.DeepEqual(first.owned, want) {
		t.Fatalf("owned are %v before the new one is near", first.owned)
	}
	members[1].at = map[int32]int64{}
	for _, p := range first.warming[1] {
		members[1].at[p] = 500
	}
	if again := spread(4, members, rules); !reflect.DeepEqual(again, first) {
		t.Errorf("half way it became %+v from %+v", again, first)
	}
	members[1].at[first.warming[1][0]] = 950
	if half := spread(4, members, rules); !reflect.DeepEqual(half.owned[1], first.warming[1][:1]) || len(half.warming[1]) != 1 {
		t.Errorf("with one of two near it became %+v", half)
	}
	members[1].at[first.warming[1][1]] = 901
	if done := spread(4, members, rules); !reflect.DeepEqual(done.owned[1], first.warming[1]) || len(done.warming[1]) != 0 {
		t.Errorf("when all were near it became %+v, from %+v", done, first)
	}
}

// TestStandbysRandom: for any claims, every number has one owner and the wanted number of standbys,
// and the standbys stay where they are. Once the warming members are near, the counts are even
// after a few more rebalances.
func TestStandbysRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		n := int32(r.IntN(20))
		members := make([]candidate, 1+r.IntN(6))
		rules := spreadRules{standbys: r.IntN(3), near: 100}
		for m := range members {
			members[m].generation, members[m].at = 1, map[int32]int64{}
		}
		for p := range n {
			if m := r.IntN(len(members) + 1); m < len(members) {
				members[m].owned = append(members[m].owned, p)
				members[m].at[p] = 1000
			}
			for m := range members {
				if _, owns := members[m].at[p]; !owns && r.IntN(4) == 0 {
					members[m].at[p] = int64(r.IntN(1000))
				}
				if r.IntN(3) == 0 {
					members[m].stores = append(members[m].stores, p)
				}
			}
		}
		s := spread(n, members, rules)
		checkStandbys(t, n, s, rules.standbys)
		if again := spread(n, members, rules); !reflect.DeepEqual(s, again) {
			t.Fatalf("%+v and %+v from the same members", s, again)
		}
		// A while later all members have followed their assignment.
		for range 4 {
			for m := range members {
				members[m].owned, members[m].at = s.owned[m], map[int32]int64{}
				for _, list := range [][]int32{s.owned[m], s.warming[m], s.standby[m]} {
					for _, p := range list {
						members[m].at[p] = 1000
					}
				}
			}
			s = spread(n, members, rules)
			checkStandbys(t, n, s, rules.standbys)
		}
		checkSpread(t, n, s.owned)
		settled := spread(n, members, rules)
		if !reflect.DeepEqual(settled, s) {
			t.Fatalf("without a change %+v became %+v", s, settled)
		}
	}
}
