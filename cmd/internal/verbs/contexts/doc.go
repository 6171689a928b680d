// Package contexts is `tidemark context`: it gives nodes names, in a file of the user, so that
// verbs that call a node find it and its token.
//
//	contexts.go  the verbs
//	list.go      lists the contexts
//	use.go       chooses one
//	add.go       adds one
//	remove.go    removes one
package contexts
