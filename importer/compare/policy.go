package compare

import (
	"fmt"
	"math/bits"
	"strings"
)

// Cause is a reason why Tidemark or a product does not count a message. The first causes have the
// names of ExplainUnread: why Tidemark does not count a message above a user's pointer.
type Cause int

// The causes.
const (
	Own Cause = iota
	Deleted
	Silent
	Reply
	ReadSingly
	BeforeJoin
	Hidden

	// Only the rows of a source show these.
	Unfollowed // replies of a thread that the user does not follow, or with a deleted root
	Posted     // read by a later post of the user; the source has no pointer of theirs

	// These are reasons why a product counts less than Tidemark.
	Quiet   // importer.Event.Quiet
	History // in a direct channel, from before the user joined
	Muted   // all, because the user muted the channel
	Earlier // came while the user had muted the channel, which they no longer do
	Marked  // all, because the user marked them as unread
	causes
)

// Excluded has the number of messages of each cause.
type Excluded [causes]int64

// Rule is the meaning of a difference: a product counts messages of a cause, or leaves them out.
type Rule struct {
	Bucket Bucket // ByPolicy or TheirsWrong
	What   string // follows the number of messages
}

// Policy describes how the numbers of a product relate to Tidemark's.
type Policy struct {
	// Rules has the causes of messages that the product may count or leave out, in part or
	// completely.
	Rules map[Cause]Rule
	// Distance means that a number is how much there is from the pointer to the end, counted or
	// not. So if something is unread, the product cannot leave out what follows it.
	Distance bool
	// OnlyMentions is the reason why its numbers may count only messages that mention the user.
	OnlyMentions string
	// Threads means that the product counts replies that only the rows of the source show. So the
	// rows judge the number of a thread. Where policy and an error explain it equally well, policy
	// wins.
	Threads bool
	// Mentions is the reason why the product's mentions may differ without an error; "" for none.
	Mentions string
}

// caps are numbers at which products stop counting.
var caps = []int64{99, 100, 999, 1000}

// explain returns the causes whose messages add up to the difference, with the worst of their
// buckets. Products mostly count all messages of a cause or none, so causes that count as a whole
// come first, and of these the fewest causes. With doubt, causes of policy alone come before others
// of the same number. It reports false if there are none.
func (p *Policy) explain(difference int64, excluded Excluded, doubt bool) (b Bucket, reason string, ok bool) {
	best, rank := uint(0), 0
	for set := uint(1); set < 1<<causes; set++ {
		fits, whole := p.fits(set, difference, excluded)
		r := 2 * bits.OnesCount(set)
		if doubt && p.wrong(set) {
			r++
		}
		if !whole {
			r += 2 * int(causes+1)
		}
		if fits && (best == 0 || r < rank) {
			best, rank = set, r
		}
	}
	if best == 0 {
		return "", "", false
	}
	b = ByPolicy
	if p.wrong(best) {
		b = TheirsWrong
	}
	var parts []string
	for c := range causes {
		if best&(1<<c) == 0 {
			continue
		}
		rule := p.Rules[c]
		n := min(excluded[c], difference-int64(bits.OnesCount(best)-1)) // each other cause has at least one
		parts = append(parts, fmt.Sprintf("%d %s", n, rule.What))
	}
	return b, strings.Join(parts, ", "), true
}

// wrong reports whether a cause of a set is an error of the product.
func (p *Policy) wrong(set uint) bool {
	for c := range causes {
		if set&(1<<c) != 0 && p.Rules[c].Bucket == TheirsWrong {
			return true
		}
	}
	return false
}

// fits reports whether the causes of a set can add up to a difference, with at least one message of
// each, and whether all messages of the set do.
func (p *Policy) fits(set uint, difference int64, excluded Excluded) (fits, whole bool) {
	low, high := int64(0), int64(0)
	for c := range causes {
		if set&(1<<c) == 0 {
			continue
		}
		if _, counts := p.Rules[c]; !counts || excluded[c] == 0 {
			return false, false
		}
		low, high = low+1, high+excluded[c]
	}
	return low <= difference && difference <= high, difference == high
}
