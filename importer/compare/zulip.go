package compare

// ZulipPolicy is that of a Zulip server. It counts the messages that have no flag of a read, one by
// one, so any difference but these is an error.
var ZulipPolicy = Policy{
	Rules: map[Cause]Rule{
		Own:        {ByPolicy, "of their own, marked as unread"},
		ReadSingly: {ByPolicy, "read singly in Tidemark alone"},
		BeforeJoin: {ByPolicy, "from before they joined again"},
		Hidden:     {ByPolicy, "hidden in Tidemark alone"},
	},
}
