package group

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// share returns the owners when nothing has to be warmed up.
func share(n int32, members []candidate) [][]int32 { return spread(n, members, spreadRules{}).owned }

// checkSpread fails unless every number is assigned once and the counts differ by at most one.
func checkSpread(t *testing.T, n int32, got [][]int32) {
	t.Helper()
	var all []int32
	least, most := int(n), 0
	for _, numbers := range got {
		if !slices.IsSorted(numbers) {
			t.Errorf("%v is not sorted", numbers)
		}
		all = append(all, numbers...)
		least, most = min(least, len(numbers)), max(most, len(numbers))
	}
	slices.Sort(all)
	want := make([]int32, n)
	for i := range want {
		want[i] = int32(i)
	}
	if !slices.Equal(all, want) {
		t.Errorf("assigned are %v, want each of %d once", all, n)
	}
	if most-least > 1 {
		t.Errorf("%v: counts differ by %d", got, most-least)
	}
}

// owning returns candidates that own their assigned numbers.
func owning(generation int32, assigned ...[]int32) []candidate {
	members := make([]candidate, len(assigned))
	for i, numbers := range assigned {
		members[i] = candidate{owned: numbers, generation: generation}
	}
	return members
}

// moved counts the numbers that have changed their owner, not counting those without a previous
// one.
func moved(before, after [][]int32) int {
	n := 0
	for m := range before {
		for _, p := range before[m] {
			if m >= len(after) || !slices.Contains(after[m], p) {
				n++
			}
		}
	}
	return n
}

func TestSpreadMembersComeAndGo(t *testing.T) {
	const n = 16
	one := share(n, owning(-1, nil))
	checkSpread(t, n, one)

	two := share(n, owning(1, one[0], nil))
	checkSpread(t, n, two)
	if m := moved(one, two); m != 8 {
		t.Errorf("a second member moved %d numbers, want 8", m)
	}
	three := share(n, owning(2, two[0], two[1], nil))
	checkSpread(t, n, three)
	if m := moved(two, three); m != 5 {
		t.Errorf("a third member moved %d numbers, want 5", m)
	}
	// The first member leaves, and the others keep their numbers.
	left := share(n, owning(3, three[1], three[2]))
	checkSpread(t, n, left)
	if m := moved(three[1:], left); m != 0 {
		t.Errorf("a member that left moved %d numbers of the others, want 0", m)
	}
	if again := share(n, owning(4, left...)); !reflect.DeepEqual(again, left) {
		t.Errorf("without a change %v became %v", left, again)
	}
}

func TestSpreadStaleClaimLoses(t *testing.T) {
	// The first member slept through a rebalance in which its numbers went to the second.
	got := share(4, []candidate{
		{owned: []int32{0, 1, 2, 3}, generation: 5},
		{owned: []int32{0, 1}, generation: 7},
	})
	if want := [][]int32{{2, 3}, {0, 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v: the claim of the later generation holds", got, want)
	}
}

func TestSpreadPrefersWhoHasTheStore(t *testing.T) {
	// No member owns anything (a rolling restart): each gets the numbers that it has on disk.
	got := share(6, []candidate{{stores: []int32{1, 3, 5}, generation: -1}, {stores: []int32{0, 2, 4}, generation: -1}})
	if want := [][]int32{{1, 3, 5}, {0, 2, 4}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// One member owns all numbers, and the other comes back with two stores. Those two move, and
	// one more.
	got = share(6, []candidate{{owned: []int32{0, 1, 2, 3, 4, 5}, generation: 3}, {stores: []int32{1, 2}, generation: -1}})
	if want := [][]int32{{0, 3, 4}, {1, 2, 5}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A store does not make a member own more than its share.
	got = share(4, []candidate{{stores: []int32{0, 1, 2, 3}}, {}})
	checkSpread(t, 4, got)
}

func TestSpreadMoreMembersThanNumbers(t *testing.T) {
	got := share(2, owning(1, []int32{1}, nil, []int32{0}))
	if want := [][]int32{{1}, nil, {0}}; !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
		t.Errorf("got %v, want %v", got, want)
	}
	checkSpread(t, 0, share(0, owning(1, []int32{0}, nil)))
	if got := share(4, nil); len(got) != 0 {
		t.Errorf("without members got %v", got)
	}
}

// TestSpreadRandom: any claims give a balanced result. If the claims are disjoint, no more numbers
// move than balance needs.
func TestSpreadRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		n := int32(r.IntN(20))
		members := make([]candidate, 1+r.IntN(6))
		before := make([][]int32, len(members))
		for p := range n {
			if m := r.IntN(len(members) + 1); m < len(members) {
				before[m] = append(before[m], p)
			}
			if m := r.IntN(2 * len(members)); m < len(members) {
				members[m].stores = append(members[m].stores, p)
			}
		}
		for m := range members {
			members[m].owned, members[m].generation = before[m], 1
		}
		after := share(n, members)
		checkSpread(t, n, after)
		if again := share(n, members); !reflect.DeepEqual(after, again) {
			t.Fatalf("%v and %v from the same members", after, again)
		}
		// The least number of moves is the sum of what is above the quotas. The members that own
		// most get the larger quotas.
		counts := make([]int, len(before))
		for m := range before {
			counts[m] = len(before[m])
		}
		slices.SortFunc(counts, func(a, b int) int { return b - a })
		need := 0
		for i, c := range counts {
			quota := int(n) / len(members)
			if i < int(n)%len(members) {
				quota++
			}
			need += max(c-quota, 0)
		}
		if got := moved(before, after); got != need {
			t.Fatalf("%v became %v: %d moved, %d had to", before, after, got, need)
		}
	}
}
