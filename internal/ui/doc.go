// Package ui is the page that a node shows: people side by side with their channels, and a view for operators.
//
// What lives here: the page itself (static, plain modules without a build step, embedded), and what it needs beside the
// gateway and the queries, which other programs have too. That is the message text, which Tidemark does not keep: a chat
// product has a message store, and feed.go and timeline.go are a small one, read from chat.messages. And it is the
// numbers of this node (operators.go) and its dead letters (deadletters.go).
//
// Everything under /ui/api is for people on this machine or, where the node has keys, with a token of scope service
// (guard.go): the page asks for one, and brings it to queries and sockets too.
package ui
