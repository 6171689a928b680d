// Package chaos attacks a whole real system: it kills (SIGKILL) or freezes (SIGSTOP) processes of
// `tidemark run` and brokers, on a real Kafka and a real Redis, while events come in. It has tests
// only.
//
// After the faults it compares the answers of every node, every published record, the whole of
// Redis and the dead letters with the model (internal/test/model) of the produced log (invariants
// O1, O6, O7 and O10 of internal/test/checker). Nothing may be left of users who were erased
// meanwhile (DESIGN §12, erase-user).
//
//	go test ./internal/test/chaos                          10 rounds, about a minute
//	make chaos                                             100 kills, 100 pauses, 20 brokers
//	TIDEMARK_CHAOS_SEED=7 go test ./internal/test/chaos    events and faults of an earlier run
//
// A seed determines the events, their order, and the faults between them. The machine determines
// what a process is doing when a fault hits it, and where the events of an erasure arrive.
//
//	workload_test.go   the events
//	cluster_test.go    servers and nodes
//	node_test.go, guard_test.go, seats_test.go   one process, its end, its membership
//	erase_test.go      users who disappear meanwhile
//	settle_test.go     waits until everything that was produced is folded, published and cached
//	refilled_test.go   a Redis filled from what compaction leaves
//	truth_test.go      the log as it was produced, by the model
//	answers_test.go, cached_test.go, dead_test.go, and package checker  what is compared with it
//	kill_test.go, pause_test.go                attacks on members
//	leader_test.go     the attack on one of three brokers
//	checks_test.go     planted errors that the comparisons must find; checks_cache_test.go: in Redis
package chaos
