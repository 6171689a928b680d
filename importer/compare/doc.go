// Package compare compares the numbers that a chat product has for its users with Tidemark's, and
// explains the differences. It reads both, and changes neither.
//
// A pair is compared as of one moment: its two numbers are read again until two readings agree, so
// a pair that changes meanwhile is never judged. The reasons come from ExplainUnread and from the
// product's policy. If these do not add up, the source's own rows are counted by Tidemark's rules,
// and decide which number is wrong.
//
//	pair.go        pairs, their numbers and buckets
//	policy.go      messages that a product's numbers include intentionally, or by mistake
//	mattermost.go  Mattermost's policy, and its statements
//	discourse.go   Discourse's policy
//	synapse.go     Synapse's policy, and its statements
//	rocketchat.go  Rocket.Chat's policy, and its statements
//	tinode.go      Tinode's policy, and its statements
//	zulip.go       Zulip's policy
//	table.go       the policy of a team's own tables, and its statements
//	judge.go       the bucket and the reason of a pair
//	rows.go        the rows of the source that matter for some pairs
//	recount.go     counts these rows by Tidemark's rules
//	earlier.go     what a product left out while a user had muted a channel
//	versions.go    whom edited replies mentioned before
//	node.go        Tidemark's numbers, from a node
//	waiting.go     waits for a node that still folds the topics
//	theirs.go      the product's numbers, from its source
//	run.go         a comparison from beginning to end
//	metrics.go     the results of repeated comparisons
//	heal.go        statements that correct the product's numbers
package compare
