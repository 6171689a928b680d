// Package tinode maps the changes of a Tinode server's database to events, by the mapping of its
// import.
//
//	live.go      changes by table
//	pointers.go  pointers, and messages that users have deleted for themselves
package tinode
