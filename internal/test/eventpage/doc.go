// Package eventpage tests docs/events.md: its tables have every field of the schemas and the reason
// of each wrong value, its examples are events that are decoded, folded and written by the programs
// of the page in every language. `go test ./internal/test/eventpage -update` writes the examples in
// curl, Python, Java and Go from those in JSON.
//
//	page.go       headings, tables and blocks of the page
//	languages.go  an event in JSON, in the other languages
package eventpage
