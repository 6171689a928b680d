package compare

import (
	"fmt"

	"github.com/tidemark/tidemark/importer/product"
)

// SynapsePolicy is the policy of a Synapse server. Its numbers count notifications: push rules
// decide about these, and Synapse sums them up in the background.
var SynapsePolicy = Policy{
	Rules: map[Cause]Rule{
		Deleted:    {TheirsWrong, "redacted, but counted"},
		Silent:     {ByPolicy, "notices"},
		ReadSingly: {ByPolicy, "read singly in Tidemark alone"},
		BeforeJoin: {ByPolicy, "from before they joined again, or began to follow the thread"},
		Hidden:     {ByPolicy, "hidden in Tidemark alone"},
		Unfollowed: {ByPolicy, "in a thread that they do not follow: Synapse notifies all members"},
		Posted:     {ByPolicy, "before a message of their own: Synapse waits for a receipt"},
		Quiet:      {ByPolicy, "stickers or polls less: their default push rules notify nobody"},
		History:    {ByPolicy, "less from before they joined the direct room"},
		Muted:      {ByPolicy, "less, because they muted the room"},
		Earlier:    {ByPolicy, "less from while they had muted the room"},
	},
	Mentions: "mentions by display name, keywords and personal push rules are not in its events",
}

// synapseHeal lowers a summary, and removes the push actions of edits, because an edit is no new
// message.
const synapseHeal = `WITH edits AS (DELETE FROM event_push_actions a USING event_relations r WHERE r.event_id = a.event_id AND r.relation_type = 'm.replace'
    AND a.user_id = %[2]s AND a.room_id = %[3]s AND a.thread_id = %[4]s
    AND a.stream_ordering > (SELECT stream_ordering FROM event_push_summary_stream_ordering) RETURNING a.event_id)
UPDATE event_push_summary s SET notif_count = greatest(0, notif_count - greatest(0, %[1]d - (SELECT count(*) FROM edits)))
WHERE user_id = %[2]s AND room_id = %[3]s AND thread_id = %[4]s AND %[5]d = notif_count + (
    SELECT count(*) FROM event_push_actions a WHERE a.user_id = s.user_id AND a.room_id = s.room_id AND a.thread_id = s.thread_id
    AND a.notif = 1 AND a.stream_ordering > (SELECT stream_ordering FROM event_push_summary_stream_ordering));`

// SynapseHeal returns the statement that lowers a number, if the number is still the compared one.
// It returns none for a number that is too low: the next receipt makes Synapse count again.
func SynapseHeal(l *Line) (statement string, ok bool) {
	more := l.Theirs.Unread - l.Ours.Unread
	if more <= 0 {
		return "", false
	}
	thread := l.Thread
	if thread == "" {
		thread = "main"
	}
	return fmt.Sprintf(synapseHeal, more, product.Literal(l.User), product.Literal(l.Channel), product.Literal(thread), l.Theirs.Unread), true
}
