// Package events is the contract of DESIGN §3 and §7: schemas, codec, validation, topics and the partition of a
// channel. It knows no Kafka client and no state.
//
// The schemas are in proto/; the Go types generated from them are in eventsv1, for producers and for tests. What
// Tidemark itself reads and writes on its hot path goes through the types of this package, decoded and encoded by hand
// over borrowed bytes.
package events

//go:generate sh -c "cd .. && go tool -modfile=tools/buf.mod buf generate"
