// Package sequence finds the seqs of messages: it joins chat.messages, which has the messages, with
// tidemark.channels, whose records have the number of folded messages.
package sequence
