package owners

import "github.com/tidemark/tidemark/query/internal/fault"

// without reports whether a partition that is not live here may be left out: this node was the last
// to answer for it, and it had nothing of the user.
func (f *Finder) without(p int32, a *About) bool {
	return !a.all && !a.asks(p) && !f.Node.MayHold(p, a.user)
}

// Here returns those of this node's partitions ps that may hold something of the user, and those
// that are left out because they are not live and hold nothing. It fails if a partition that may
// hold something is not live. It takes no partition's lock, because there may be hundreds of them.
func (f *Finder) Here(ps []int32, a *About) (holding, out []int32, err error) {
	for _, p := range ps {
		part, notLive := f.Node.Live(p)
		switch {
		case notLive == nil:
			if a.all || part.MayKnow(a.user) {
				holding = append(holding, p)
			}
		case f.without(p, a):
			out = append(out, p)
		default:
			return nil, nil, fault.Unavailable("partition %d cannot be read here: %v", p, notLive)
		}
	}
	return holding, out, nil
}

// Back reports whether a partition that was left out must be called again.
func (f *Finder) Back(p int32, a *About) bool {
	_, notLive := f.Node.Live(p)
	return notLive == nil || !f.without(p, a)
}

const (
	// groupsAtMost is how many groups are read at once, and groupAtLeast how many partitions a
	// group has, so that a goroutine that holds the lock of one partition does not delay all
	// others.
	groupsAtMost, groupAtLeast = 4, 4
	// groupedPage is the largest page that is selected in groups. Each group selects a whole page.
	groupedPage = 200
)

// Groups divides the partitions of ps to read into groups: those that may hold something of the
// user, and those that after names, which may hold something once the call has waited. Groups are
// read concurrently if a page of this size is worth that. There is at least one group.
func (f *Finder) Groups(ps []int32, a *About, size int) (groups [][]int32) {
	toRead := make([]int32, 0, min(len(ps), 64))
	for _, p := range ps {
		if part, notLive := f.Node.Live(p); a.all || notLive != nil || a.asks(p) || part.MayKnow(a.user) {
			toRead = append(toRead, p)
		}
	}
	n := max(1, min(groupsAtMost, len(toRead)/groupAtLeast))
	if a.all || size > groupedPage {
		n = 1
	}
	for ; n > 0; n-- {
		share := (len(toRead) + n - 1) / n
		groups, toRead = append(groups, toRead[:share:share]), toRead[share:]
	}
	return groups
}
