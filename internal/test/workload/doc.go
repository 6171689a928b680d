// Package workload makes the events of a small company, for tests of whole clusters. Every rule of
// the fold applies to some of them.
//
//	parts.go     events and fields of the parts of DESIGN §4.7
//	workload.go  the company: who posts, reads, joins and leaves
//	bodies.go    the events that they make
//	draws.go     who, which message and when, at random
//	erase.go     people leave the company and are erased
package workload
