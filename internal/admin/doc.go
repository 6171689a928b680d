// Package admin is what a running node does when those who run it ask, over HTTP below /admin/: it says which partitions it
// has, takes a snapshot now, and makes a copy of a store to be verified beside it. `tidemark snapshot create --node` and
// `tidemark verify --node` are its callers (DESIGN §11, §12).
//
//	admin.go    what is asked and answered
//	handler.go  the node's side
//	client.go   the callers' side
//
// Whoever may call it may read everything, so a token of scope service is needed where there are keys, and no page of a
// browser can call it (auth.Operator, and a content type that a form cannot send).
package admin
