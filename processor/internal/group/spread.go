package group

import (
	"cmp"
	"slices"
)

// candidate is a member of the group in spread.
type candidate struct {
	owned      []int32         // numbers that the member claims to own, ascending
	generation int32           // generation of the group in which the member came to own them
	stores     []int32         // numbers whose stores the member has on disk
	at         map[int32]int64 // position of each open number, owned or not: the sum of its offsets
}

// sharing is the result of spread. Each list is by index of members, and ascending within each.
type sharing struct {
	owned   [][]int32 // numbers that each member owns
	warming [][]int32 // numbers that a member will own once it is near; until then their owner keeps them
	standby [][]int32 // numbers that a member tails in case their owner fails
}

// spreadRules are the settings of spread that all members have in common.
type spreadRules struct {
	standbys int   // how many members tail each number beside its owner
	near     int64 // how many records a new owner may lack of the old one's position in an orderly handover
}

// spread shares the numbers 0 to n-1 out to members. The result depends only on the arguments and
// their order.
//
// Every member gets n/len(members) numbers or one more. Within this quota a number stays with its
// owner; the members that own most may keep one more. A claim loses to a claim of a later
// generation: a member that missed a rebalance does not know that its partitions have moved.
//
// A number whose owner is gone goes to the member that has folded it furthest, whatever its share,
// because fast recovery matters more than balance. A surplus moves later, in an orderly handover.
// If no member tailed the number, it goes to a member with its store and a free share, else to the
// member with the fewest numbers. In an orderly handover a number stays with its owner until the
// new owner is near.
func spread(n int32, members []candidate, rules spreadRules) sharing {
	s := sharing{
		owned: make([][]int32, len(members)), warming: make([][]int32, len(members)), standby: make([][]int32, len(members)),
	}
	if len(members) == 0 || n <= 0 {
		return s
	}
	c := newClaims(n, members, rules.near)
	owner := owners(n, members)
	c.takeOver(owner)
	target := c.targets(owner)
	for p := range n {
		o, t := owner[p], target[p]
		if o >= 0 && o != t && !c.isNear(p, t) {
			s.warming[t] = append(s.warming[t], p)
			t = o
		}
		s.owned[t] = append(s.owned[t], p)
	}
	s.spreadStandbys(n, members, rules.standbys)
	return s
}

// owners returns, by number, the index of the member whose claim holds, or -1. Of equal claims the
// first member's holds.
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

// takeOver gives each number without an owner to the member that has folded it furthest. Of several
// members that are near to the furthest, the one with the fewest numbers gets it.
func (c *claims) takeOver(owner []int) {
	count := counts(owner, len(c.members))
	for p, o := range owner {
		if o >= 0 {
			continue
		}
		best := -1
		for m := range c.members {
			if c.rank(int32(p), m) < claimNear {
				continue
			}
			if best < 0 || count[m] < count[best] {
				best = m
			}
		}
		if owner[p] = best; best >= 0 {
			count[best]++
		}
	}
}

// targets returns the member that would own each number if moving cost nothing.
func (c *claims) targets(owner []int) []int {
	quota := quotas(owner, len(c.members))
	target := make([]int, len(owner))
	kept := make([][]int32, len(c.members))
	for p, m := range owner {
		target[p] = m
		if m >= 0 {
			kept[m] = append(kept[m], int32(p))
		}
	}
	belowQuota := func(m int) bool { return len(kept[m]) < quota[m] }
	var free []int32
	for m, numbers := range kept {
		if over := len(numbers) - quota[m]; over > 0 {
			// Numbers that a member with a free share has folded move first, then those that it has
			// on disk.
			rank := func(p int32) int { return c.best(p, func(h int) bool { return h != m && belowQuota(h) }) }
			slices.SortStableFunc(numbers, func(a, b int32) int {
				return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
			})
			free = append(free, numbers[len(numbers)-over:]...)
			kept[m] = numbers[:len(numbers)-over]
		}
	}
	for p, m := range owner {
		if m < 0 {
			free = append(free, int32(p))
		}
	}
	slices.Sort(free)
	give := func(p int32, m int) {
		target[p] = m
		kept[m] = append(kept[m], p)
	}
	for _, rank := range []int{claimNear, claimStored, claimNone} {
		rest := free[:0]
		for _, p := range free {
			best := -1
			for m := range c.members {
				if c.rank(p, m) < rank || !belowQuota(m) {
					continue
				}
				if best < 0 || rank == claimNone && quota[m]-len(kept[m]) > quota[best]-len(kept[best]) {
					best = m
				}
			}
			if best < 0 {
				rest = append(rest, p)
				continue
			}
			give(p, best)
		}
		free = rest
	}
	return target
}

// quotas returns how many numbers each member gets. All get the same; of the remainder, the members
// that own most get one each.
func quotas(owner []int, members int) []int {
	count := counts(owner, members)
	order := make([]int, members)
	quota := make([]int, members)
	for m := range order {
		order[m] = m
		quota[m] = len(owner) / members
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(count[b], count[a]) })
	for _, m := range order[:len(owner)%members] {
		quota[m]++
	}
	return quota
}

// counts returns how many numbers each member owns.
func counts(owner []int, members int) []int {
	count := make([]int, members)
	for _, m := range owner {
		if m >= 0 {
			count[m]++
		}
	}
	return count
}

// How ready a member is for a number that it does not own.
const (
	claimNone   = iota
	claimStored // its store is on disk
	claimNear   // it is open and near
)

// claims rank how ready the members are for each number.
type claims struct {
	members  []candidate
	near     int64
	furthest []int64 // the furthest position of any member, by number
	stores   [][]int // the members that have its store on disk, by number
}

func newClaims(n int32, members []candidate, near int64) *claims {
	c := &claims{members: members, near: near, furthest: make([]int64, n), stores: make([][]int, n)}
	for m := range members {
		for p, at := range members[m].at {
			if p >= 0 && p < n {
				c.furthest[p] = max(c.furthest[p], at)
			}
		}
		for _, p := range members[m].stores {
			if p >= 0 && p < n {
				c.stores[p] = append(c.stores[p], m)
			}
		}
	}
	return c
}

// isNear reports whether a member is close to the furthest position of a number. If that position
// itself is small, a member with nothing is near as well.
func (c *claims) isNear(p int32, m int) bool { return c.furthest[p]-c.members[m].at[p] <= c.near }

func (c *claims) rank(p int32, m int) int {
	if _, open := c.members[m].at[p]; open && c.isNear(p, m) {
		return claimNear
	}
	if slices.Contains(c.stores[p], m) {
		return claimStored
	}
	return claimNone
}

// best returns the highest rank for p among the members for which among returns true.
func (c *claims) best(p int32, among func(m int) bool) int {
	best := claimNone
	for m := range c.members {
		if among(m) {
			best = max(best, c.rank(p, m))
		}
	}
	return best
}
