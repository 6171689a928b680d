// Package sequence finds the seqs of messages: it joins chat.messages, which has the messages, with
// tidemark.channels, whose records say how many messages the fold has counted.
package sequence
