// Package projections is the fold of DESIGN §4 and its store.
//
// The rules are functions over values: timeline.go (messages), reads.go and suffix.go (reads, and what waits), view.go
// (what a user sees). They work on pointer-free slabs (state.go, slab.go, table.go, blobs.go) that hold every channel
// and every (user, channel) pair; log.go keeps the messages. cut.go writes what changed behind, in packed pages, with
// the position it stands for; open.go reads it back. Nothing here knows Kafka, Redis, a wall clock or a goroutine.
package projections
