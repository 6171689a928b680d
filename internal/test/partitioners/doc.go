// Package partitioners tests the table of clients in docs/events.md: it runs clients for Kafka with
// their default partitioner and with the one that the table names, and looks at the partitions of
// their records. testdata has the programs.
//
//	partitioners.go  the table, and the partitioners that it names
package partitioners
