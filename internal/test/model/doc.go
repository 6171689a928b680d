// Package model is the one definition of DESIGN §4 as a naive program: it keeps every record of the
// three input topics and answers each question by replaying all of chat.messages in order, then all
// of chat.reads, then all of chat.deliveries. It is slow and meant to be obviously right; tests
// compare the fold with it.
//
// It shares nothing with the fold but the types of questions and answers.
//
//	model.go     the records, and the questions
//	copy.go      copies of events that borrow their bytes
//	timeline.go  the replay of chat.messages
//	channel.go   a channel and its messages after the replay
//	reads.go     the replay of chat.reads
//	settings.go  a user's settings of a channel: level, flag, filing, hidden messages, line, labels
//	pair.go      one user in one channel: which messages are unread, which are hidden
//	named.go     what answers still have of an old message: its id, its sender, its preview
//	ended.go     messages that events have forgotten
//	trimmed.go   what the log has trimmed
//	received.go  when a user received, read or viewed a message
//	receipts.go  who received and read a message
//	view.go      what a user sees of a channel
//	threads.go   what a user sees of a thread
//	erase.go     what an erasure leaves
//	totals.go    the sums over a user's channels
//	diff.go      compares the fold's answers with the model's
//	cold.go      answers of a partition with cold channels
package model
