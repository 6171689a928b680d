// Package term writes what verbs print: tables, fields, JSON, times and messages, for people at a
// terminal and for programs. No text from data can move a terminal's cursor or change the direction
// of the following text.
//
//	text.go            the width of a text, and its printable form
//	output.go          Table, JSON, times of day, plurals
//	fields.go          Fields: a name and a value a line
//	message.go         names of messages
//	terminal.go        detects a terminal
//	terminal_unix.go   detects a person, and the size of their terminal
//	terminal_other.go  the same on systems that cannot report it
package term
