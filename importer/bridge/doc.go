// Package bridge follows the database of another chat product, and writes its changes as events. It
// begins where an import with a replication slot ended.
//
// Each batch is one transaction of Kafka: the events of whole database transactions, and the
// position after them in tidemark.imports. So each change is written once, wherever a bridge dies.
// A second bridge of the same name fences the first one.
//
//	config.go   what a bridge follows, and where it writes
//	run.go      a bridge from beginning to end, and what stops it
//	refusal.go  errors that only a person can resolve
//	session.go  one connection to the database and one producer
//	feed.go     changes that Debezium writes
//	visible.go  waits until queries see a transaction
//	batch.go    transactions of the database as one of Kafka
//	status.go   lag and backlog: metrics, readiness, lines in the log
package bridge
