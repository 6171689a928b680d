// Package query is the read API of DESIGN §9: exact unread numbers over Connect, gRPC, gRPC-Web and plain JSON, and the
// ingest service for producers without a Kafka client.
//
// A call about a channel is answered by the node that folds the channel's partition: the local one reads its
// projections, any other forwards. A call about a user asks all owners and merges. How a number came about is not known
// here (package projections), nor which partition is live and who owns the others (package processor, seen as Node).
//
// Reading rule, kept in read.go: an answer and its as_of come from one hold of the partition's read lock, so that as_of
// is exactly the position of what is answered.
package query
