// Package random draws chat scripts for property tests, with rapid.
//
// Scripts are small and crowded on purpose. They have few users, channels and message ids, so that
// duplicates, unknown ids, reads before their messages, equal times, and ids that are prefixes of
// others come up all the time. Every script draws its own mix first, so that rare kinds meet each
// other without common ones in between.
//
//	random.go      scripts of a small crowded chat
//	mix.go         what a script draws once, and its ids, users and times
//	messages.go    records of chat.messages
//	reads.go       records of chat.reads and chat.deliveries
//	parts.go       the features of DESIGN §4.7, and the fields that they add to a record
//	more.go        scripts that have some of these features
//	rules.go       scripts in which one rule applies all the time
//	crowd.go       scripts with many members and repetition
//	taken_back.go  scripts in which most events are undone
//	scripts.go     a property over many scripts
package random
