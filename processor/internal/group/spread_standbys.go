package group

import (
	"cmp"
	"slices"
)

// spreadStandbys assigns the standbys of each number that has an owner. Present standbys come
// first, then members with the store on disk, up to an equal share of tails for each member. The
// rest goes to the members with the least work, and among them to the one that tails the fewest
// numbers of the same owner, so that all members together take over from one that fails.
func (s *sharing) spreadStandbys(n int32, members []candidate, standbys int) {
	standbys = min(standbys, len(members)-1)
	if standbys <= 0 {
		return
	}
	owner := make([]int, n)
	for m, numbers := range s.owned {
		for _, p := range numbers {
			owner[p] = m
		}
	}
	share := (int(n)*standbys + len(members) - 1) / len(members)
	tails := func(p int32, m int) bool {
		return m == owner[p] || slices.Contains(s.standby[m], p) || slices.Contains(s.warming[m], p)
	}
	count := make([]int, n)
	for _, has := range []func(c *candidate, p int32) bool{
		func(c *candidate, p int32) bool { _, open := c.at[p]; return open },
		func(c *candidate, p int32) bool { return slices.Contains(c.stores, p) },
	} {
		for p := range n {
			for m := range members {
				if count[p] < standbys && !tails(p, m) && len(s.standby[m]) < share && has(&members[m], p) {
					s.standby[m] = append(s.standby[m], p)
					count[p]++
				}
			}
		}
	}
	same := func(p int32, m int) (same int) { // how many numbers of p's owner the member tails
		for _, q := range s.standby[m] {
			if owner[q] == owner[p] {
				same++
			}
		}
		return same
	}
	for p := range n {
		for ; count[p] < standbys; count[p]++ {
			best := -1
			for m := range members {
				if tails(p, m) {
					continue
				}
				if best < 0 || cmp.Or(
					cmp.Compare(len(s.standby[m])+len(s.owned[m]), len(s.standby[best])+len(s.owned[best])),
					cmp.Compare(same(p, m), same(p, best)),
				) < 0 {
					best = m
				}
			}
			if best < 0 {
				break // all others are warming it up
			}
			s.standby[best] = append(s.standby[best], p)
		}
	}
	for _, numbers := range s.standby {
		slices.Sort(numbers)
	}
}
