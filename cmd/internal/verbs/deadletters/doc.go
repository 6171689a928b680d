// Package deadletters is `tidemark deadletters`: it lists the records that were refused, and writes
// them again.
//
//	deadletters.go  the verbs, and which letters are meant
//	list.go         lists letters
//	replay.go       writes them to their topics again
package deadletters
