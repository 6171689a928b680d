// Package ui is a node's web page: people side by side with their channels, and a view for
// operators.
//
// What lives here: the page itself (static, plain modules without a build step, embedded), and what
// it needs beside the gateway and the queries, which other programs have too. That is the message
// text, which Tidemark does not keep: a chat product has a message store, and feed.go and
// timeline.go are a small one, read from chat.messages. And it is the numbers of this node
// (operators.go) and its dead letters (deadletters.go).
//
// Everything under /ui/api is for people on this machine or, where the node has keys, with a token
// of scope service (guard.go): the page asks for one, and brings it to queries and sockets too.
//
//	handler.go      the page and its paths
//	guard.go        who may see it
//	feed.go         reads chat.messages
//	timeline.go     the messages that the page remembers
//	search.go       what of them a search fits
//	operators.go    the numbers of this node
//	series.go       some of them over the last hour
//	letterlog.go    reads the dead letters, newest first
//	deadletters.go  its dead letters, by reason and page
//	replay.go       writes them again
//	verify.go       compares a store with the topics
//	reply.go        answers and refusals as JSON
package ui
