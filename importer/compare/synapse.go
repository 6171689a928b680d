package compare

import (
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
	Threads:  true,
	Mentions: "mentions by display name, keywords and personal push rules are not in its events",
}

// Synapse is the dialect of SynapseHeal: a procedure of the session corrects the numbers.
var Synapse = Dialect{SQL.comment, product.SynapseHealPrologue + "\n" + SQL.begin, SQL.commit}

// SynapseHeal returns the statement that corrects a number, if it is still the compared one.
func SynapseHeal(l *Line) (statement string, ok bool) {
	return product.SynapseHeal(l.User, l.Channel, l.Thread, l.Theirs.Unread, l.Ours.Unread), true
}
