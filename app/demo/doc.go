// Package demo simulates a small company that chats. `tidemark dev` runs it by default.
//
// scenario.go and act.go decide what happens, as a pure function of the seed. driver.go produces
// the events to Kafka at the pace of people.
//
//	cast.go      people, rooms and what they write
//	scenario.go  what happens next, and when
//	act.go       one act of one person
//	driver.go    produces the events
package demo
