// Package rocketchat maps changes of a Rocket.Chat server's documents to events. MongoDB says what
// a document is after a change, and of a removed one only its id: so the package knows
// subscriptions and messages, first from the dump that was imported, then from the changes.
//
//	known.go         what it knows, and what of it has changed
//	change.go        a change, and whether the dump has it
//	subscription.go  members, what they have viewed, and mutes
//	message.go       messages, edits, deletions, and who follows a thread
//	live.go          changes by collection
package rocketchat
