// Package eventpage tests docs/events.md. The tables of the page have every field of the schemas,
// and the reason for refusing each wrong value. Its examples are events that the decoder takes, the
// fold folds, and the page's programs write in every language. `go test ./internal/test/eventpage
// -update` writes the examples in curl, Python, Java and Go from those in JSON.
//
//	page.go       headings, tables and blocks of the page
//	languages.go  an event in JSON, in the other languages
package eventpage
