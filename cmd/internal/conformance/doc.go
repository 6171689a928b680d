// Package conformance runs the stories of this project's tests against any service that speaks its
// API, and compares the answers. Events go in by Publish, queries by the query methods, all as JSON
// over HTTP.
//
// stories.json has the stories. The compile test generates it from the golden stories of
// internal/test/museum, internal/test/model and projections, with the answers of the reference
// model: `go test ./cmd/internal/conformance -run Compiled -update`. testdata/left_out.txt lists
// the stories that it leaves out, with the reasons.
//
//	story.go    stories, as they are in the file
//	bind.go     a story with the names and the times of one run
//	client.go   calls as JSON over HTTP
//	differ.go   what an answer has, and what the story says that it must have
//	run.go      telling stories, several at a time
package conformance
