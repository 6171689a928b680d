// Package zulip maps the changes of a Zulip server's database to events, by the mapping of its
// import.
//
//	memory.go   what the bridge remembers
//	members.go  subscriptions, mutes, and streams that end
//	posts.go    messages, edits and deletions
//	reads.go    flags of messages as pointers and single reads
//	live.go     changes by table
package zulip
