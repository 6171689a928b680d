// Package chaos is the end-to-end attack on the real thing: processes of the real `tidemark run` on a real Kafka and a
// real Redis, which are killed with SIGKILL or frozen with SIGSTOP while events come in, and so are the brokers. It has tests only.
//
// After the faults the answers of every node, every record that was published, the whole of Redis and the dead letters
// are compared with what internal/model says of the log that was produced: invariants O1, O6, O7 and O10 of the design,
// recipes R5 and R6. Whoever is erased meanwhile (DESIGN §12, erase-user) must have left nothing.
//
//	go test ./internal/chaos                                          10 rounds, about a minute
//	make chaos                                                        100 kills, 30 pauses, 20 brokers
//	TIDEMARK_CHAOS_SEED=7 go test ./internal/chaos                    the events and the faults of an earlier run
//
// A seed gives the same events in the same order, and the same faults between them. When a fault hits relative to what a
// process is doing just then is up to the machine, and so is where the events of an erasure come in.
//
//	workload_test.go   the events
//	cluster_test.go    servers and nodes; node_test.go, guard_test.go, seats_test.go: one process, its end, its membership
//	erase_test.go      users who disappear meanwhile
//	settle_test.go     waits until everything that was produced is folded, published and cached
//	truth_test.go      the log as it was produced, by the model
//	answers_test.go, cached_test.go, dead_test.go, and package checker  what is compared with it
//	kill_test.go, pause_test.go, leader_test.go                        the attacks: on members, and on one of three brokers
//	checks_test.go     that the comparisons see what is wrong; checks_cache_test.go: in Redis
package chaos
