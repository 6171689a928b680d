// Package bench has the benches of the whole path on a broker: from the topics through the
// processor to the output topics, the cache, the query service and the gateway. Their unit is CPU
// seconds per million input events (cpu-s/Mev) of all processes together. Unlike a rate, it hardly
// depends on other load of the machine.
//
// Package gauge has the instruments, package feed writes events into topics, package partition has
// the benches of one partition without a broker, package inboxes has the bench of users in few of
// many partitions, package cluster has that of nodes in processes of their own, and package swarm has the
// clients of the gateway. The files of this package, in reading order:
//
//	stage.go           a mix in its own topics
//	run.go             a processor, and a cache role, on a stage
//	live.go            the benches live, messages and growth
//	flat.go            the bench flat: partitions and members cost nothing
//	echo.go            the baseline of live: a consumer that writes what it reads
//	zset.go            the baseline of messages: sorted sets in Redis
//	steady.go          the whole path at a rate at which it keeps up, for growth
//	handover.go        the bench handover: for how long nobody answers when a partition moves
//	member.go          the members that a partition moves between
//	replay.go          the bench replay: stores rebuilt from the topics, beside a bare consume
//	serve.go           the bench serve: a node, and the latency of its clients
//	caller.go          a client that calls the same procedure over and over
//	people.go          MarkAllRead and GetThreads of users with much to read
//	receipts.go        who has read what in a large channel
//	locks.go           the bench locks: for how long the lock of a partition is held, and for what
//	locks_cut.go       receipts beside a cut
//	locks_load.go      what is asked and folded meanwhile
//	holds.go           the durations of holds, by cause
//	gateway.go         the bench gateway: from an event to a socket
//	sockets.go         a node with a gateway, and its clients in another process
//	storm.go           the cost of connections, and of many that arrive at once
//	storm_limited.go   the same with the limits of a gateway
//	frames.go          messages at full speed, into many sockets
//	pubsub.go          deltas by topics and by Redis pub/sub
package bench
