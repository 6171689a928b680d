// Package admin serves operators' requests to a running node, over HTTP below /admin/. It lists the
// node's partitions, takes snapshots, copies a store so that it can be verified, and answers about
// the past. `tidemark snapshot create --node`, `tidemark verify --node`, `tidemark query --at` and
// `tidemark diff` are its callers (DESIGN §11, §12).
//
//	admin.go     requests and answers
//	handler.go   the node's side
//	profiles.go  profiles, on a listener of their own
//	loglevel.go  the level of the log
//	client.go    the callers' side
//
// Its callers can read everything. So with keys they need a token of scope admin or service, and no
// page of a browser can call it (auth.Operator, and a content type that a form cannot send).
package admin
