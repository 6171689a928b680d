// Package sender produces records as an idempotent producer does, in record batches and produce
// requests of its own. For output records it replaces the Kafka client's producer, which works on
// each record by itself: a Sender encodes the records of a set at once, and a set gets one outcome
// per batch. The Kafka client still connects, logs in, throttles, finds brokers and gets the
// producer id. The package knows no fold, no leases and no fences.
//
// A partition has at most one batch on its way, so batches never overtake each other. A batch whose
// fate is unknown is sent again with the same sequence number until the broker states that it has
// the batch.
//
// Its files, in the order in which to read them:
//
//	lane.go     the queue of a partition
//	state.go    which lanes wait for which broker, and the end of a batch
//	leaders.go  finding leaders, and pauses before repetitions
//	outcome.go  what an answer means for a batch
//	flight.go   a produce request and its answer
//	sorting.go  the records of a set by partition
//	sender.go   a Sender, and adding records
package sender
