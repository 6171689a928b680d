package compare

import (
	"fmt"

	"github.com/tidemark/tidemark/importer/product"
)

// TinodePolicy is the policy of a Tinode server. Its number is the newest number of a topic minus
// the number up to which the user has read, so everything that has a number counts.
var TinodePolicy = Policy{
	Rules: map[Cause]Rule{
		Own:        {ByPolicy, "of their own"},
		Deleted:    {TheirsWrong, "deleted, but counted"},
		Silent:     {TheirsWrong, "edits, or gone, but counted"},
		ReadSingly: {TheirsWrong, "deleted by themselves, but counted"},
		BeforeJoin: {ByPolicy, "from before they joined"},
		Hidden:     {ByPolicy, "hidden in Tidemark alone"},
	},
	Distance: true,
}

// TinodeHeal returns the statement that corrects a number, if it has not changed since the
// comparison. The number follows from the pointer, so the pointer gets its place right before the
// first unread message, or at the end.
func TinodeHeal(l *Line) (statement string, ok bool) {
	if l.Thread != "" {
		return "", false
	}
	return fmt.Sprintf("UPDATE subscriptions s SET readseqid = t.seqid - %[4]d, recvseqid = greatest(s.recvseqid, t.seqid - %[4]d)\n"+
		"FROM topics t WHERE t.name = %[1]s AND s.topic IN (%[1]s, regexp_replace(%[1]s, '^grp', 'chn')) AND s.userid::text = %[2]s AND t.seqid - s.readseqid = %[3]d;",
		product.Literal(l.Channel), product.Literal(l.User), l.Theirs.Unread, l.toEnd), true
}
