// Package docs tests the documents: every section of the design that code or documents refer to
// exists, every relative link leads to a file and an anchor that exist, and the glossary names
// declarations that exist, and a test runs each example. Tests that compare single pages with the product are in the packages
// that the pages describe (cmd/tidemark, gateway, cache, processor, projections).
//
//	files.go      the files of the repository that the tests read
//	links.go      headings, anchors and links of a page
//	declared.go   the names that a package declares
//	blocks.go     the examples of a page, and the commands in them
//	examples.go   which test runs each example, and why none runs some
package docs
