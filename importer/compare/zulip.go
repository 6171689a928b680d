package compare

// ZulipPolicy is the policy of a Zulip server. It counts messages without the flag of a read one by
// one, so any other difference is an error.
var ZulipPolicy = Policy{
	Rules: map[Cause]Rule{
		Own:        {ByPolicy, "of their own, marked as unread"},
		ReadSingly: {ByPolicy, "read singly in Tidemark alone"},
		BeforeJoin: {ByPolicy, "from before they joined again"},
		Hidden:     {ByPolicy, "hidden in Tidemark alone"},
	},
}
