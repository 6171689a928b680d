// Package kafkaadmin makes Tidemark's topics, says how the topics of a cluster differ from what Tidemark needs, and
// reads the identities that a store is bound to (DESIGN §5).
//
// What a topic should look like is known by package events; this package talks to brokers and knows no rule of the
// fold. It never changes or deletes a topic that exists.
package kafkaadmin
