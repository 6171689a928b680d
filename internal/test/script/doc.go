// Package script is a small readable language for chat events. Golden tests and the documentation
// use it, and a failing random test prints its events in it. A line is an event:
//
//	a, b join
//	b posts m1 "hello" @a
//	a reads up to m1
//	a marks unread m1 head m1
//
// Parser turns text into records, as a decoder would pass them to the fold. Format turns a record
// back into a line that parses to the same record. The functions of state.go describe a user's view
// in words. See Parser for all lines.
//
// Times are durations since Start, such as "0:00:05" or "8d+0:00:05.250".
//
//	script.go        a script of events
//	line.go          the words of a line
//	parse.go         lines become records
//	parse_events.go  the events of a line
//	parse_more.go    what else a user says of a channel
//	parse_targets.go the message, time or thread that a line names
//	settings.go      the settings that a story names after its command
//	time.go          times since the start of a script
//	encode.go        events as producers write them
//	lend.go          events in memory that is overwritten after the call
//	format.go        records as lines
//	state.go         channels and deltas in words
//	promised.go      what a delta promises to say of a view
//	more.go          mentions, hidden messages, viewers and totals in words
//	threads.go       threads in words
//	receipts.go      receipts in words
package script
