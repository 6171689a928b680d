package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/importer"
)

// Evidence is what the comparison has found out about a pair whose numbers differ.
type Evidence struct {
	Theirs, Ours Numbers
	Thread       bool     // the pair is a thread
	Known        bool     // the node has the channel
	Excluded     Excluded // by ExplainUnread
	Messages     []string // the ids behind our number, at most 1,000
	More         bool     // there are more
	Unnamed      int64    // how many have no id: they are older than the import's --since, or than the index
	Rows         *Recount // from the source's rows; nil: not counted yet
}

// Recount is the result of Tidemark's rules for the rows of a source.
type Recount struct {
	Unread, Mentions int64
	ToEnd            int64 // messages from the first unread one to the end, counted or not
	Excluded         Excluded
	Less             Excluded // the part of Unread that a product may leave out
	Messages         []Source // those that count
	Left             bool     // the user has left
	Ended            bool     // the channel is deleted
	Emptied          bool     // deleted messages without content may have changed the number
}

// Source is a message, and its row.
type Source struct {
	ID     string
	Origin importer.Origin
}

// Judge returns the bucket of a pair and the reason. It reports false if it needs the source's rows
// first.
func (p *Policy) Judge(e *Evidence) (b Bucket, reason string, ok bool) {
	if e.Known && e.Theirs.Equal(e.Ours) {
		return Equal, "", true
	}
	if e.Rows != nil && e.Rows.Ended {
		return NotComparable, "the channel is deleted", true
	}
	if e.Theirs.Unread < 0 {
		return TheirsWrong, "negative", true
	}
	if m := e.Theirs.Mentions; m != nil && *m < 0 {
		return TheirsWrong, "negative mentions", true
	}
	if !e.Known && e.Rows == nil {
		return "", "", false
	}
	if e.Theirs.onlyMentions && e.Ours.Mentions != nil {
		return p.onlyMentions(e)
	}
	b, reason, ok = p.unread(e)
	if ok && b == TheirsWrong && p.Distance && e.Ours.Unread > 0 {
		return p.distance(e, reason)
	}
	if !ok || b == OursWrong || b == TheirsWrong {
		return b, reason, ok
	}
	mentions, why, ok := p.mentions(e)
	if mentions == Equal || !ok {
		return b, reason, ok
	}
	if b == Equal {
		return mentions, why, true
	}
	if mentions == ByPolicy && b == ByPolicy {
		return b, reason, true
	}
	return mentions, reason + "; " + why, true
}

// unread judges the numbers of unread messages.
func (p *Policy) unread(e *Evidence) (b Bucket, reason string, ok bool) {
	difference := e.Theirs.Unread - e.Ours.Unread
	if !e.Known && e.Rows.Unread > 0 {
		return OursWrong, e.missing(), true
	}
	if difference == 0 {
		return Equal, "", true
	}
	doubt := p.Threads && e.Thread
	if e.Rows == nil {
		if doubt {
			return "", "", false
		}
		return p.explain(difference, e.Excluded, false)
	}
	r := e.Rows
	if r.Unread == e.Theirs.Unread { // what users hid or read in Tidemark alone is in no row
		alone := Excluded{Hidden: e.Excluded[Hidden], ReadSingly: max(0, e.Excluded[ReadSingly]-r.Excluded[ReadSingly])}
		if b, reason, ok = p.explain(difference, alone, false); ok && b == ByPolicy {
			return b, reason, true
		}
	}
	switch {
	case e.older() > 0 && e.Theirs.Unread == r.Unread:
		return ByPolicy, fmt.Sprintf("%d less: read singly, but too old to be named", e.older()), true
	case r.Unread != e.Ours.Unread && r.Emptied:
		return NotComparable, "a deleted message has lost its content, so its thread and its mentions are unknown: " + e.missing(), true
	case r.Unread != e.Ours.Unread:
		return OursWrong, e.missing(), true
	case r.Left && e.Theirs.Unread > 0:
		return TheirsWrong, "after leaving", true
	}
	if b, reason, ok = p.explain(difference, r.Excluded, doubt); ok {
		return b, reason, true
	}
	if b, reason, ok = p.explain(-difference, r.Less, doubt); ok {
		return b, reason, true
	}
	if difference < 0 && (e.Theirs.capped || slices.Contains(caps, e.Theirs.Unread)) {
		return TheirsWrong, fmt.Sprintf("capped: their own rows have %d", r.Unread), true
	}
	return TheirsWrong, fmt.Sprintf("stale: their own rows have %d", r.Unread), true
}

// distance judges a wrong number with something unread. A pointer right before the first unread
// message gives the smallest number that the product can have.
func (p *Policy) distance(e *Evidence, reason string) (b Bucket, why string, ok bool) {
	switch {
	case e.Rows == nil:
		return "", "", false
	case e.Theirs.Unread <= e.Rows.ToEnd:
		return NotComparable, reason + ": their number has all that follows the first unread message", true
	}
	return TheirsWrong, reason, true
}

// onlyMentions judges a number that counts only messages which mention the user.
func (p *Policy) onlyMentions(e *Evidence) (b Bucket, reason string, ok bool) {
	theirs, ours, r := e.Theirs.Unread, *e.Ours.Mentions, e.Rows
	switch {
	case e.Known && theirs == ours:
		return ByPolicy, p.OnlyMentions, true
	case r == nil:
		return "", "", false
	case r.Mentions != ours && ours < r.Mentions && e.Unnamed > 0:
		return ByPolicy, sinceMentions, true
	case r.Mentions != ours || r.Unread != e.Ours.Unread:
		return OursWrong, e.missing(), true
	case r.Left && theirs > 0:
		return TheirsWrong, "after leaving", true
	case theirs < ours && r.Less[Marked] > 0 && p.Rules[Marked].Bucket != "":
		return p.Rules[Marked].Bucket, fmt.Sprintf("%d %s", ours-theirs, p.Rules[Marked].What), true
	case theirs > ours && theirs <= r.Unread && p.Mentions != "":
		return ByPolicy, p.Mentions, true
	}
	return TheirsWrong, fmt.Sprintf("stale: their own rows have %d that mention the user", r.Mentions), true
}

// older returns how many messages Tidemark counts only because the import could not name them in a
// single read; 0 if this does not explain the difference.
func (e *Evidence) older() int64 {
	more := e.Ours.Unread - e.Rows.Unread
	if more > min(e.Rows.Excluded[ReadSingly], e.Unnamed) {
		return 0
	}
	return max(more, 0)
}

// sinceMentions is the reason of mentions that the import did not write.
const sinceMentions = "mentions in messages older than the import's --since"

// mentions judges the numbers of mentions, of a pair whose numbers of unread messages are equal or
// differ by policy.
func (p *Policy) mentions(e *Evidence) (b Bucket, reason string, ok bool) {
	if e.Theirs.Mentions == nil || e.Ours.Mentions == nil {
		return Equal, "", true
	}
	theirs, ours := *e.Theirs.Mentions, *e.Ours.Mentions
	more := theirs - ours
	switch {
	case more == 0:
		return Equal, "", true
	case theirs > e.Theirs.Unread:
		return TheirsWrong, fmt.Sprintf("%d mentions in %d unread messages", theirs, e.Theirs.Unread), true
	case p.Mentions != "":
		return ByPolicy, p.Mentions, true
	case more > 0 && more <= e.Theirs.Unread-e.Ours.Unread:
		return ByPolicy, "mentions in these", true
	case e.Rows == nil:
		return "", "", false
	case e.Rows.Mentions == ours:
		return TheirsWrong, fmt.Sprintf("mentions: their own rows have %d", ours), true
	case e.Unnamed > 0 && ours < e.Rows.Mentions:
		return ByPolicy, sinceMentions, true
	}
	return OursWrong, fmt.Sprintf("mentions: their rows have %d", e.Rows.Mentions), true
}

// listed is the number of messages that a reason names.
const listed = 3

// missing names the messages of the source that Tidemark does not count, or the messages that it
// counts although the source does not.
func (e *Evidence) missing() string {
	r := e.Rows
	text := fmt.Sprintf("their rows have %d", r.Unread)
	if !e.Known {
		text = "the node does not have the channel, and " + text
	}
	ours, theirs := map[string]bool{}, map[string]bool{}
	for _, id := range e.Messages {
		ours[id] = true
	}
	var absent, extra []string
	for _, m := range r.Messages {
		theirs[m.ID] = true
		if !ours[m.ID] {
			absent = append(absent, fmt.Sprintf("%s (%s:%d)", m.ID, m.Origin.Table, m.Origin.Row))
		}
	}
	for _, id := range e.Messages {
		if !theirs[id] {
			extra = append(extra, id)
		}
	}
	if e.Unnamed == 0 && !e.More && len(absent) > 0 {
		text += ", input missing: " + first(absent)
	}
	if len(extra) > 0 {
		text += ", not there: " + first(extra)
	}
	return text
}

// first lists the first of many.
func first(list []string) string {
	if len(list) > listed {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:listed], ", "), len(list)-listed)
	}
	return strings.Join(list, ", ")
}
