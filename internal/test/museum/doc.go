// Package museum runs stories of a chat against a whole Tidemark. It writes events to Kafka, then
// queries the query service and reads what users see from Redis. It has tests only. Its testdata
// document, for readers who need no Go, what a chat product gets.
//
//	testdata/museum    museum-<n>: defects that users met in other products, and how they went wrong
//	testdata/restart   the defects among them that concern restarts and rebuilds
//	testdata/own       stories of our own: two rules of the fold that meet
//	testdata/seed      what a chat product shows, for readers who have never seen Tidemark
//
// A file has stories in the language of package script. Lines with `?` are questions (see tale);
// their answers are below the line of dashes. `go test ./internal/test/museum -rewrite` writes the
// answers; a person then judges the difference.
//
// The stories of projections/testdata run on the fold alone, in every order of the topics. The
// stories here show that nothing is lost between the fold and its readers.
package museum
