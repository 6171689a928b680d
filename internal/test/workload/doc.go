// Package workload makes the events of a small company, for tests of whole clusters. Every rule of
// the fold applies to some of them.
//
//	said.go      what else a user sees (DESIGN §4.7)
//	workload.go  the company: who posts, reads, joins and leaves
//	erase.go     people leave the company and are erased
package workload
