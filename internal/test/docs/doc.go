// Package docs tests the documents. Every section of the design that code or documents refer to
// exists. Every relative link leads to a file and an anchor that exist. The glossary names
// declarations that exist. A test runs each example. Tests that compare a single page with the
// product are in the package that the page describes (cmd/tidemark, gateway, cache, processor,
// projections).
//
//	files.go      the files of the repository that the tests read
//	links.go      headings, anchors and links of a page
//	declared.go   the names that a package declares
//	blocks.go     the examples of a page, and the commands in them
//	names.go      the names of the fields of an object on a page
//	examples.go   reads examples.yml: the test of each example, or the reason why none runs it
package docs
