// Package museum tells stories of a chat to a whole Tidemark: events go in through Kafka, and what
// users see is asked from the query service and read from Redis. It has tests only; its testdata
// are the documentation of what a chat product gets, in words that need no Go.
//
//	testdata/museum    museum-<n>: defects that users met in other products, and how they went wrong
//	testdata/restart   those of them that are about restarts and rebuilds
//	testdata/own       what is near them: two rules of the fold that meet
//	testdata/seed      what a chat product shows, told for somebody who has never seen Tidemark
//
// A file has stories in the language of package script, with what is asked at each `?` and, below
// the line of dashes, the answers; see tale for the questions. `go test ./internal/test/museum
// -rewrite` writes the answers, after which the difference is for a person to judge.
//
// The stories of projections/testdata are told to the fold alone, in every order of the topics.
// These here show that nothing is lost between the fold and those who read.
package museum
