// Package query is the read API of DESIGN §9: exact unread numbers over Connect, gRPC, gRPC-Web and
// plain JSON, and the ingest service for producers without a Kafka client.
//
// The node that folds a channel's partition answers a call about the channel. If that is not this
// node, this node forwards the call. For a call about a user this node calls all owners and merges
// their answers. Package projections computes the numbers. Package processor, seen as Node, has the
// partitions that are live here and the owners of the others.
//
// The reading rule, implemented in read.go: an answer and its as_of come from one hold of the
// partition's read lock, so that as_of is exactly the position of the answer.
//
// A call's way through the files:
//
//	config.go         the configuration of the services
//	node.go           the interface of the processor
//	server.go         the addresses that are allowed without keys
//	handler.go        the front door: paths, methods, content types
//	admit.go          rates, concurrent calls and memory, before the body is read
//	judge.go          the caller: a node (and for whom), or the bearer of a token
//	metrics.go        counting calls by method and code
//	panic.go          a panic ends one call
//	authorize.go      authorization
//	local.go          the same for callers of this process, without HTTP
//	service.go        the calls about one channel
//	receipts.go       receipts and readers
//	route.go          answering a call about a channel here, or forwarding it
//	wait.go           waiting until the records that a caller names are folded here
//	read.go           the reading rule
//	listing.go        a call about a user, which goes to all owners
//	inbox.go          the channels of a user
//	threads.go        the threads that a user follows
//	userchannels.go   the channels in which a user has a row
//	evaluated.go      the time as of which a call is answered
//	sweep.go          reading everything of a user in some partitions, in short holds of the lock
//	watch.go          streams of changes, in sessions in which no partition moves
//	watch_merge.go    merging the streams of all owners
//	watch_local.go    following a user in the partitions of this node
//	watch_arrived.go  following further partitions once they have something of the user
//	watch_changed.go  reading changes
//	watch_sent.go     sending values that differ from those sent before
//
// The packages in query/internal do not depend on the files above: fault (the errors), codec (bytes
// to messages, within bounds), body (the memory of bodies), gate (limits of callers), position
// (as_of and after), paging (the order of lists, and page tokens), selection (the first n of an
// order), owners (who answers for which partitions, and which of them hold something of a user),
// peers (clients of the other nodes), totals (sums of what is unread), expiry (when levels end),
// streams (how many watches there may be), kept (a user's lists between pages), cold (channels that
// are in the store only), audited (the audit log), answer (views as messages), ingest (the ingest
// service).
package query
