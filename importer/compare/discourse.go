package compare

// DiscoursePolicy is the policy of a Discourse site. It computes its numbers by nearly the same
// definition as Tidemark, so any other difference is an error.
var DiscoursePolicy = Policy{
	Rules: map[Cause]Rule{
		ReadSingly: {ByPolicy, "read singly in Tidemark alone"},
		BeforeJoin: {ByPolicy, "from before they joined: never read counts all"},
		Hidden:     {ByPolicy, "hidden in Tidemark alone"},
	},
	Mentions: "mentions are notifications there, which are read apart",
}
