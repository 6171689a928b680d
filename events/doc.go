// Package events is the contract of DESIGN §3 and §7: schemas, codec, validation, topics and the partition of a
// channel. It knows no Kafka client and no state.
package events
