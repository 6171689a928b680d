// Package kafkaadmin creates Tidemark's topics, compares a cluster's topics with those that
// Tidemark needs, and reads the identities that a store is bound to (DESIGN §5).
//
// Package events specifies the topics. This package calls brokers and depends on no rule of the
// fold. It never changes or deletes an existing topic.
//
//	check.go     compares topics with their specifications
//	create.go    creates missing topics
//	identity.go  ids of the cluster and of topics
//	newest.go    the newest records of topics, as tokens
//	ends.go      where a client begins that reads only what is new
//	left.go      what is still to be read of a log whose end is known
//	leave.go     leaves a consumer group in bounded time
package kafkaadmin
