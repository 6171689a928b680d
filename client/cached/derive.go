package cached

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxListed is the largest length of a list. A full list may lack positions.
const maxListed = 1000

// span is a run of positions, both ends included.
type span struct{ low, high int }

// spansOf reads `3,7-9`.
func spansOf(text string) []span {
	var out []span
	for run := range strings.SplitSeq(text, ",") {
		low, high, two := strings.Cut(run, "-")
		a, err := strconv.Atoi(low)
		if err != nil {
			continue
		}
		b := a
		if two {
			if b, err = strconv.Atoi(high); err != nil {
				continue
			}
		}
		out = append(out, span{a, b})
	}
	return out
}

// within returns the spans above one position and up to another.
func within(list []span, above, upto int) []span {
	var out []span
	for _, s := range list {
		if s = (span{max(s.low, above+1), min(s.high, upto)}); s.low <= s.high {
			out = append(out, s)
		}
	}
	return out
}

func union(lists ...[]span) []span {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.low-b.low, a.high-b.high) })
	var out []span
	for _, s := range all {
		if last := len(out) - 1; last >= 0 && s.low <= out[last].high+1 {
			out[last].high = max(out[last].high, s.high)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func size(list []span) (n int) {
	for _, s := range list {
		n += s.high - s.low + 1
	}
	return n
}

// minus returns how many positions of list are not in less.
func minus(list, less []span) int { return size(union(list, less)) - size(less) }

// counts are a user's counts in a large channel.
type counts struct{ unread, mentions, direct int }

// derive computes a user's counts from the record of a large channel. ok is false if the lists are
// incomplete.
func derive(v *value, channel map[string]string) (c counts, ok bool) {
	if len(channel) == 0 || v.Ask {
		return c, false
	}
	excluded, mentioned := spansOf(v.Excluded), spansOf(v.Mentioned)
	head, above := position(channel["message_pos"]), max(v.ReadPos, position(channel["purged_pos"]))
	if above >= head {
		return c, true
	}
	if position(channel["holes_floor"]) > above || !v.IgnoreMentionAll && position(channel["alls_floor"]) > above ||
		size(excluded) >= maxListed || size(mentioned) >= maxListed {
		return c, false
	}
	gone := union(within(spansOf(channel["holes"]), above, head), within(excluded, above, head))
	direct := union(within(mentioned, above, head))
	either := direct
	if !v.IgnoreMentionAll {
		either = union(direct, within(spansOf(channel["alls"]), above, head))
	}
	return counts{head - above - size(gone), minus(either, gone), minus(direct, gone)}, true
}

func position(text string) int {
	n, _ := strconv.Atoi(text) // the cache writes numbers
	return n
}
