package compare

import (
	"fmt"

	"github.com/tidemark/tidemark/importer/product"
)

// MattermostPolicy is the policy of a Mattermost server. Its numbers are counters that posts raise
// and views set, and that deletions never lower.
var MattermostPolicy = Policy{
	Rules: map[Cause]Rule{
		Own:        {ByPolicy, "of their own: marking unread counts these there"},
		Deleted:    {TheirsWrong, "deleted, but counted"},
		Silent:     {ByPolicy, "of joining and leaving"},
		Reply:      {ByPolicy, "in threads"},
		ReadSingly: {ByPolicy, "read singly in Tidemark alone"},
		BeforeJoin: {ByPolicy, "from before they joined: never viewed"},
		Hidden:     {ByPolicy, "hidden in Tidemark alone"},
	},
	Mentions: "mentions by keywords, groups and @here are not in its posts",
}

// MattermostHeal returns the statement that corrects a number, if it has not changed since the
// comparison. A channel has two counters, with and without replies; both change by the same amount.
// The number of a thread is computed, so only its mentions can be wrong.
func MattermostHeal(l *Line) (statement string, ok bool) {
	if l.Thread != "" {
		if l.Theirs.Mentions == nil {
			return "", false
		}
		return fmt.Sprintf("UPDATE threadmemberships SET unreadmentions = greatest(0, least(unreadmentions, %d))\n"+
			"WHERE postid = %s AND userid = %s AND unreadmentions = %d;",
			l.Ours.Unread, product.Literal(l.Thread), product.Literal(l.User), *l.Theirs.Mentions), true
	}
	return fmt.Sprintf("UPDATE channelmembers m SET msgcountroot = c.totalmsgcountroot - %[1]d, msgcount = m.msgcount + c.totalmsgcountroot - m.msgcountroot - %[1]d,\n"+
		"    mentioncountroot = greatest(0, least(m.mentioncountroot, %[1]d)), mentioncount = greatest(0, least(m.mentioncount, %[1]d))\n"+
		"FROM channels c WHERE c.id = m.channelid AND m.channelid = %[2]s AND m.userid = %[3]s AND c.totalmsgcountroot - m.msgcountroot = %[4]d;",
		l.Ours.Unread, product.Literal(l.Channel), product.Literal(l.User), l.Theirs.Unread), true
}
