// Package ui is a node's web page: users side by side with their channels, and a view for
// operators.
//
// The package has the page itself (static, plain modules without a build step, embedded), and the
// data that the page needs beside the gateway and the queries. It has the message texts, which
// Tidemark does not keep: a chat product has a message store, and feed.go and timeline.go are a
// small one, read from chat.messages. It also has the numbers of this node (operators.go) and its
// dead letters (deadletters.go).
//
// Everything under /ui/api is for users of this machine or, if the node has keys, for holders of a
// token of scope service (guard.go): the page prompts for one, and sends it with queries and
// sockets too.
//
//	handler.go      the page and its paths
//	guard.go        who may see it
//	feed.go         reads chat.messages
//	timeline.go     the messages that the page remembers
//	search.go       searches them
//	operators.go    the numbers of this node
//	series.go       samples of them over the last hour
//	letterlog.go    reads the dead letters, newest first
//	deadletters.go  lists them, by reason, text and page
//	replay.go       writes them to their topics again
//	verify.go       compares a store with the topics
//	reply.go        answers and errors as JSON
package ui
