// Package tinode maps the changes of a Tinode server's database to events, by the mapping of its
// import.
//
//	memory.go    what the bridge remembers
//	pointers.go  pointers, and messages that users have deleted for themselves
//	live.go      changes by table
package tinode
