// Package term writes what verbs print: tables, fields, JSON, times and messages, for people at a
// terminal and for programs. No text from data can move a terminal's cursor or change the direction
// of the following text.
//
//	text.go            the width of a text, and its printable form
//	output.go          Table, JSON, times of day, plurals
//	fields.go          Fields: a name and a value a line
//	message.go         how a message is named
//	terminal.go        whether there is a terminal
//	terminal_unix.go   whether a person is there, and how large their terminal is
//	terminal_other.go  the same where the system cannot be asked
package term
