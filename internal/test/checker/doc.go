// Package checker has the invariants that must hold after any fault. Every attack on Tidemark
// compares with them, so that all attacks mean the same by "right". The package takes what an
// attack has left behind (the log, the store, what was published, Redis, the dead letters) and
// reports the differences, the first of them in words that a person can follow.
//
//	O1 prefix     Store: every answer is that of the model for the log up to its position
//	O2 sequence   Store: a channel's seqs are dense and in log order, and each message id has one
//	O3 pointers   Store, and History.Each for each value: read <= head, back only by a mark
//	O4 unread     Store: the definition of DESIGN §4.2, message by message
//	O5 digest     Digests: a replay from zero has the digest of the store
//	O6 deltas     History.Newest, History.Stamps, History.Each
//	O7 cache      Redis; Mirror for a reader that only keeps what dominates, and derives the rest
//	O8 client     Device: what a socket told, across connections, is what the log says
//	O9 rights     Device: every message that was ever sent or named to it was one it may know of
//	O10 liveness  each attack waits itself until all is folded, published and cached
//	O11 order     Digests: a replay in another order has the same digest
//
// Everything is compared with internal/test/model, which shares no rule with the fold. It imports
// neither processor nor query, so that their own tests can use it.
//
//	log.go            the input topics, and what the model makes of them
//	findings.go       differences in words
//	store.go          what a store answers
//	published.go      what was published
//	answer.go         what a user is told as of a time; answer_right.go what is right
//	mirror.go         a reader of what was published
//	mirror_answer.go  what it derives; mirror_viewed.go views; mirror_channels.go
//	                  what compaction leaves, and the records of channels
//	redis.go          inboxes in Redis; redis_answer.go what a reader of them tells
//	redis_threads.go  threads in Redis
//	device.go         a client with a socket; device_settings.go the settings in frames (§4.7)
//	device_check.go   whether what it was told is right
//	dead.go           dead letters
//	gone.go           users who were erased
//	lied.go           wrong records that a check has to find
package checker
