// Package node puts the parts of a running node together: the roles processor, cache and query in
// one process, behind one HTTP port with /healthz, /readyz and /metrics. `tidemark run` is one
// node; `tidemark dev` is one beside an embedded Kafka and Redis.
//
// The parts have packages of their own. This package connects them, starts and stops them in order,
// and stops the node when one of them fails.
//
//	config.go     Config
//	node.go       Node: starts, runs and stops the parts
//	ready.go      the node's state for probes and for other nodes
//	router.go     the processor in the query service's view
//	cache.go      the role cache
//	sql.go        the role sql
//	gateway.go    the role gateway
//	metrics.go    what a node measures beside its parts
//	traces.go     spans for a collector, if one is named
//	statecodes.go the codes of what is wrong now, as a metric
//	doors.go      the listeners
//	stop.go       what a stop takes at most, and what it leaves
//	cluster.go    what this node reports to others, and asks them
//	verify.go     compares a partition with its topics, for the page
//	ui.go         the page
//	snapshots.go  the newest snapshots, for the page
package node
