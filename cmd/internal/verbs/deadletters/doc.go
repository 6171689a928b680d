// Package deadletters is `tidemark deadletters`: it lists the records that were refused, and writes
// them again.
//
//	deadletters.go  the verbs, and the choice of letters
//	list.go         lists letters
//	replay.go       writes them to their topics again
package deadletters
