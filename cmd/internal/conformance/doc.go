// Package conformance tells the stories of this project's tests to any service that speaks its API,
// and compares what it answers: events go in by Publish, questions by the query methods, all of it
// as JSON over HTTP.
//
// stories.json has the stories. The compile test makes it from the golden stories of
// internal/test/museum, internal/test/model and projections, with answers by the reference model:
// `go test ./cmd/internal/conformance -run Compiled -update`. It lists in testdata/left_out.txt which
// stories it leaves out, and why.
//
//	story.go    stories, as they are in the file
//	bind.go     a story with the names and the times of one run
//	client.go   calls as JSON over HTTP
//	differ.go   what an answer has, and what the story says that it must have
//	run.go      telling stories, several at a time
package conformance
