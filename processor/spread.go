package processor

import (
	"cmp"
	"maps"
	"slices"
)

// candidate is a member of the group as the spreading of partition numbers sees it.
type candidate struct {
	owned      []int32 // numbers that it says it owns, ascending
	generation int32   // of the group when it came to own them
	held       []int32 // numbers of which it has a store on disk
}

// spread assigns the numbers 0 to n-1 to members; the result is by index of members, ascending within each.
//
// Every member gets n/len(members) numbers or one more. A number stays with its owner as far as that allows; of those
// who may keep one more it is those who own most. A claim loses to one of a later generation: who missed a rebalance
// does not know that its partitions have moved. A number without an owner goes to a member that holds its store, if that
// has room, else to the member with the fewest. The result depends on nothing but the arguments and their order.
func spread(n int32, members []candidate) [][]int32 {
	result := make([][]int32, len(members))
	if len(members) == 0 || n <= 0 {
		return result
	}
	owner := owners(n, members)
	quota := quotas(n, owner, len(members))

	owned := make([][]int32, len(members))
	for p, m := range owner {
		if m >= 0 {
			owned[m] = append(owned[m], int32(p))
		}
	}
	holders := newHolders(members)
	var free []int32
	for m, numbers := range owned {
		if over := len(numbers) - quota[m]; over > 0 {
			// What a member with room has on disk moves first: it need not be folded anew there.
			wanted := func(p int32) bool {
				return slices.ContainsFunc(holders[p], func(h int) bool { return len(owned[h]) < quota[h] })
			}
			slices.SortStableFunc(numbers, func(a, b int32) int {
				if wa, wb := wanted(a), wanted(b); wa != wb {
					return map[bool]int{true: 1, false: -1}[wa]
				}
				return cmp.Compare(a, b)
			})
			free = append(free, numbers[len(numbers)-over:]...)
			numbers = numbers[:len(numbers)-over]
		}
		result[m] = slices.Clone(numbers)
	}
	for p, m := range owner {
		if m < 0 {
			free = append(free, int32(p))
		}
	}
	slices.Sort(free)

	rest := free[:0]
	for _, p := range free {
		m := slices.IndexFunc(holders[p], func(h int) bool { return len(result[h]) < quota[h] })
		if m < 0 {
			rest = append(rest, p)
			continue
		}
		result[holders[p][m]] = append(result[holders[p][m]], p)
	}
	for _, p := range rest {
		best := -1
		for m := range members {
			if room := quota[m] - len(result[m]); room > 0 && (best < 0 || room > quota[best]-len(result[best])) {
				best = m
			}
		}
		result[best] = append(result[best], p)
	}
	for _, numbers := range result {
		slices.Sort(numbers)
	}
	return result
}

// owners is, by number, the index of the member whose claim to it holds, -1 if there is none. Of equal claims the first
// member's holds.
func owners(n int32, members []candidate) []int {
	owner := make([]int, n)
	for p := range owner {
		owner[p] = -1
	}
	for m, c := range members {
		for _, p := range c.owned {
			if p < 0 || p >= n {
				continue
			}
			if owner[p] < 0 || c.generation > members[owner[p]].generation {
				owner[p] = m
			}
		}
	}
	return owner
}

// quotas is how many numbers each member gets: all the same, and what does not divide goes one each to those who own
// most.
func quotas(n int32, owner []int, members int) []int {
	count := make([]int, members)
	for _, m := range owner {
		if m >= 0 {
			count[m]++
		}
	}
	order := make([]int, members)
	quota := make([]int, members)
	for m := range order {
		order[m] = m
		quota[m] = int(n) / members
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(count[b], count[a]) })
	for _, m := range order[:int(n)%members] {
		quota[m]++
	}
	return quota
}

// newHolders lists, by number, the members that have its store on disk.
func newHolders(members []candidate) map[int32][]int {
	holders := map[int32][]int{}
	for m, c := range members {
		for _, p := range c.held {
			holders[p] = append(holders[p], m)
		}
	}
	return holders
}

// sortedKeys are the keys of m in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
