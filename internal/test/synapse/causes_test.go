package synapse

import (
	"slices"
	"strings"

	"github.com/tidemark/tidemark/importer/compare"
)

// staleWords begin the reason for a number that differs from what Synapse's own rows give.
const staleWords = "stale: their own rows have"

// cause is a reason that tidemark compare may give, and whether the actions in the room of a line
// allow it.
type cause struct {
	bucket compare.Bucket
	words  string // after the number of messages
	is     func(w *world, t *truth, l *compare.Line) bool
}

// causes lists all reasons that a difference from Synapse may have.
var causes = []cause{
	{compare.ByPolicy, "notices", func(w *world, _ *truth, l *compare.Line) bool {
		return w.did(l, func(a *act) bool { return a.kind == posts && a.silent && a.user != l.User })
	}},
	{compare.ByPolicy, "stickers or polls less: their default push rules notify nobody", func(w *world, _ *truth, l *compare.Line) bool {
		return w.did(l, func(a *act) bool { return a.kind == posts && a.sort != "" && a.user != l.User })
	}},
	{compare.ByPolicy, "in a thread that they do not follow: Synapse notifies all members", func(_ *world, t *truth, l *compare.Line) bool {
		v, _ := t.Thread(l.User, l.Channel, l.Thread)
		return l.Thread != "" && (!v.Following || t.gone[l.Thread])
	}},
	{compare.ByPolicy, "from before they joined again, or began to follow the thread", func(w *world, t *truth, l *compare.Line) bool {
		v, _ := t.Thread(l.User, l.Channel, l.Thread)
		return l.Thread != "" && v.Following || w.did(l, func(a *act) bool { return a.kind == leaves && a.user == l.User })
	}},
	{compare.ByPolicy, "before a message of their own: Synapse waits for a receipt", func(w *world, t *truth, l *compare.Line) bool {
		return w.did(l, func(a *act) bool {
			return a.kind == posts && a.user == l.User && a.thread == l.Thread && !t.hasReceipt(*a)
		})
	}},
	{compare.ByPolicy, "less from before they joined the direct room", func(w *world, _ *truth, l *compare.Line) bool {
		return w.did(l, func(a *act) bool { return a.room.direct })
	}},
	{compare.ByPolicy, "less, because they muted the room", func(_ *world, t *truth, l *compare.Line) bool {
		v, _ := t.View(l.User, l.Channel)
		return v.Muted
	}},
	{compare.ByPolicy, "less from while they had muted the room", func(w *world, _ *truth, l *compare.Line) bool { return w.mutedOthers(l) }},
	{compare.ByPolicy, "mentions by display name, keywords and personal push rules are not in its events", func(w *world, _ *truth, l *compare.Line) bool {
		return w.did(l, func(a *act) bool {
			return a.kind == edits || a.kind == redacts || a.all || slices.Contains(a.mentions, l.User)
		})
	}},
	{compare.TheirsWrong, "redacted, but counted", func(w *world, t *truth, l *compare.Line) bool {
		return w.did(l, func(a *act) bool { return a.kind == posts && a.user != l.User && t.gone[a.id] })
	}},
	{compare.TheirsWrong, staleWords, staleness},
	{compare.TheirsWrong, "mentions in", staleness},
}

// staleness: a number starts from zero when a user without a receipt in the room changes their
// name, and an edit that mentions them counts as a new message.
func staleness(w *world, t *truth, l *compare.Line) bool {
	return w.did(l, func(a *act) bool {
		return (a.kind == renames || a.kind == joins) && a.user == l.User && l.Theirs.Unread < l.Ours.Unread && !t.receipts[place{l.User, a.room, ""}] ||
			a.kind == edits && (a.all || slices.Contains(a.mentions, l.User))
	})
}

// mutedOthers reports whether somebody else posted in the room of a line while its user had muted
// it, and the user has unmuted it since.
func (w *world) mutedOthers(l *compare.Line) bool {
	rules, posted := map[string]bool{}, false
	for _, a := range w.acts {
		switch {
		case a.room.id != l.Channel:
		case a.user == l.User && (a.kind == mutes || a.kind == enables):
			rules[a.rule] = a.kind == mutes || a.enabled
		case a.user != l.User && a.kind == posts:
			posted = posted || rules["room"] || rules["override"]
		}
	}
	return posted && !rules["room"] && !rules["override"]
}

// did reports whether the room of a line had an action.
func (w *world) did(l *compare.Line, what func(*act) bool) bool {
	return slices.ContainsFunc(w.acts, func(a act) bool { return a.room.id == l.Channel && what(&a) })
}

// unjustified returns the parts of a line's reason that the actions do not allow.
func (w *world) unjustified(t *truth, l *compare.Line) (parts []string) {
	var known []cause
	rest := l.Reason
	for _, c := range causes {
		if strings.Contains(rest, c.words) {
			known = append(known, c)
			rest = strings.ReplaceAll(rest, c.words, "")
		}
	}
	if strings.Trim(rest, "0123456789 ,;unreadmsg") != "" || l.Bucket != compare.Equal && len(known) == 0 {
		parts = append(parts, "no such reason: "+rest)
	}
	bucket := compare.Equal
	for _, c := range known {
		if !c.is(w, t, l) {
			parts = append(parts, c.words)
		}
		if bucket != compare.TheirsWrong {
			bucket = c.bucket
		}
	}
	if bucket != l.Bucket {
		parts = append(parts, "the bucket should be "+string(bucket))
	}
	return parts
}
