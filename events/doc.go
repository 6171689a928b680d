// Package events is the contract of DESIGN §3 and §7: schemas, codec, validation, topics and the
// partition of a channel. It uses no Kafka client and has no state.
//
// The schemas are in proto/; the Go types generated from them are in eventsv1, for producers and
// for tests. On its hot path Tidemark itself uses the types of this package, which are decoded and
// encoded by hand over borrowed bytes.
//
//	event.go            the events of the input topics
//	names.go            the kinds of events, and their names in the schemas
//	ids.go              valid ids and texts; times.go: times on the wire
//	topics.go           the topics and their settings
//	partition.go        the partition of a channel
//	partitioner.go      finding the partitioner of a misplaced record
//	frame.go            the frames of Confluent's Schema Registry, taken off before decoding
//	decode.go           an input record to an event, in JSON or Protobuf
//	decode_plain.go     the common messages and reads, at a third of the cost
//	decode_message.go   message events
//	check_message.go    the required fields of messages
//	decode_read.go      read events
//	decode_more.go      reads about the channel as a whole: level, flag, filing, hiding, line, labels
//	decode_delivery.go  delivery events
//	json.go             records in JSON; internal/jsonwhy explains faults
//	version.go          the version that a record needs, and this build's version
//	errors.go           the reasons of dead letters
//	stamp.go            stamps: how far the inputs of a value had been folded
//	delta.go            the values of the output topics
//	levels.go           the level of a channel at a time
//	keys.go             the keys of the output topics
//	derive.go           the counts of a user in a large channel
//	positions.go        sets of positions, and their text form
//	record_id.go        the name of a record: topic, partition and offset
//	tokens.go           the newest of many such names
//	encode.go           fields to bytes
//	wire.go             bytes to fields
//	parts.go            messages that output records have in common
//	delta_codec.go      deltas
//	channel_codec.go    channel records
//	receipts_codec.go   receipt records
package events

//go:generate make -C .. generate
