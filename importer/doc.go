// Package importer brings the history of another chat product into the input topics: its messages,
// members, read pointers, followed threads and mutes.
//
// A product maps rows to Events (package product), and a source reads rows (package source). This
// package orders the events of all channels by time, numbers the messages that it writes in each
// channel, expresses pointers by these numbers, and writes the records. It reads the source once,
// into sorted runs on disk, and then makes its passes over the runs.
//
// The same call continues an import that was interrupted at any point. The records are a function
// of the source: the call generates the same ones again, and skips those that are already in the
// log.
//
//	event.go     the events of any product
//	count.go     the numbers that a product itself has
//	encode.go    events to bytes and back, for the sorted runs
//	order.go     the one order of time
//	sorter.go    sorts more than fits into memory
//	problems.go  rows that could not be mapped, by reason
//	plan.go      the events of a source in order, and the counters of the passes
//	take.go      takes the events of a source
//	named.go     pointers to a message by its id get the place of that message
//	before.go    the pass over events before the cut: messages become a count for each channel
//	after.go     the pass over the rest: writes chat.messages
//	posts.go     messages in that pass, their numbers and their deletions
//	pointers.go  pointers in that pass, and the place that they give a user
//	reads.go     the second pass: reads, follows and mutes
//	records.go   events as records of the input topics
//	state.go     the state of an import, in tidemark.imports
//	writer.go    writes records, with checkpoints, and skips those that the log has
//	tail.go      the records in the log after a checkpoint
//	known.go     what a bridge must know beside its position
//	live.go      events that a bridge sees, as records
//	run.go       an import from beginning to end
package importer
