// Package engine holds what all workers of a process share, in a processor and in a rebuild: the
// configuration, the metrics, a client for requests to the brokers, and the brokers' answers about
// the topics. It opens no store and fetches no record.
//
// Its files, in the order in which to read them:
//
//	engine.go    the identities of the cluster and the topics, read once at the start
//	survey.go    the bounds of the logs, and whether the topics are still the same
//	clients.go   options of the Kafka clients
//	buffered.go  gauges of the producer's client
package engine
