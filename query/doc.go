// Package query is the read API of DESIGN §9: exact unread numbers over Connect, gRPC, gRPC-Web and
// plain JSON, and the ingest service for producers without a Kafka client.
//
// The node that folds a channel's partition answers a call about the channel: from its projections
// if it is this node, else this node forwards the call. For a call about a user this node asks all
// owners and merges their answers. How a number comes about is known in package projections; which
// partition is live here, and who owns the others, in package processor, seen as Node.
//
// Reading rule, kept in read.go: an answer and its as_of come from one hold of the partition's read
// lock, so that as_of is exactly the position of the answer.
//
// A call's way through the files:
//
//	config.go         what the services are made of
//	node.go           what they need of the processor
//	server.go         which addresses may be listened on without keys
//	handler.go        the front door: paths, methods, content types
//	admit.go          rates, calls under way and memory, before anything of the body is read
//	judge.go          who calls: a node, for whom, or the bearer of a token
//	metrics.go        counts calls by method and code
//	audit.go          notes erasures, publishes and refusals
//	panic.go          a panic ends one call
//	authorize.go      who may call what
//	local.go          the same for callers of this process, without HTTP
//	service.go        the calls about one channel
//	receipts.go       who has read and received
//	route.go          a call about a channel is answered here or forwarded
//	wait.go           until what a caller has seen is folded here
//	read.go           the reading rule
//	listing.go        a call about a user goes to all owners, who read the partitions that know them
//	inbox.go          the channels of a user
//	threads.go        the threads that a user follows
//	userchannels.go   everything that is known of a user
//	evaluated.go      the time as of which a call is answered
//	sweep.go          reads all that a user has in some partitions, in short holds of the lock
//	watch.go          streams of changes, in sessions in which no partition moves
//	watch_merge.go    one stream of those of all owners
//	watch_local.go    follows a user in the partitions of this node
//	watch_arrived.go  follows further partitions once there is something of the user in them
//	watch_changed.go  reads what changed
//	watch_sent.go     what was sent already; sends what differs from it
//
// Rooms that know nothing of the above are in query/internal: fault (the errors), codec (bytes to
// messages, within bounds), body (the memory of bodies), gate (limits of callers), position (as_of
// and after), paging (the order of lists, and page tokens), selection (the first n of an order),
// owners (who answers for which partitions, and which of them hold something of a user), peers
// (clients of the other nodes), totals (sums of what is unread), expiry (when levels end), streams
// (how many watches there may be), kept (a user's lists between pages), answer (views as messages),
// ingest (the ingest service).
package query
