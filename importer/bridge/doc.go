// Package bridge follows the database of another chat product, and writes what changes there as
// events. It begins where an import with a replication slot has ended.
//
// Each batch is one transaction of Kafka: the events of whole transactions of the database, and the
// position behind them in tidemark.imports. So each change is written once, wherever a bridge dies.
// A second bridge of the same name fences the first one.
//
//	config.go   what a bridge follows, and where it writes
//	run.go      a bridge from beginning to end, and what stops it
//	refusal.go  reasons for which a person has to decide
//	session.go  one connection to the database and one producer
//	feed.go     the changes that Debezium writes
//	batch.go    transactions of the database as one of Kafka
//	status.go   lag and backlog: metrics, readiness, lines in the log
package bridge
