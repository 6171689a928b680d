// Package earlier has the data that earlier builds wrote: stores, snapshots, the keys of Redis and
// the records of the output topics. Its tests read them with the current code, so that a change
// cannot make a node unable to open existing data.
//
// Each directory below testdata is named after the commit whose build wrote it, COMMIT from the
// events of testdata/story.txt and X-COMMIT from those of testdata/story-X.txt. The channels of the
// story "seeded" begin with messages_seeded, and its stores state format 2. The story "said" has
// all of DESIGN §4.7, and its stores state format 3:
//
//	inputs.json      the records of the three input topics
//	stores.zip       the data directory of a node that folded them and was stopped
//	snapshots.zip    the directory of its snapshots
//	redis.json       all keys of the Redis that it filled
//	outputs.json     the records that it produced
//	answers.json     the digest of each store, and its answers to every query about every user
//
// To add the data of another build, check it out beside this tree, copy this directory into it
// (without the other builds' testdata), run
//
//	go test ./internal/test/earlier -run TestWrite -write COMMIT
//	go test ./internal/test/earlier -run TestWrite -write seeded-COMMIT
//	go test ./internal/test/earlier -run TestWrite -write said-COMMIT
//
// there, and copy testdata/COMMIT, testdata/seeded-COMMIT and testdata/said-COMMIT back. Never
// overwrite an existing directory: it has what that build wrote.
package earlier
