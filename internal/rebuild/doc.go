// Package rebuild is what the verbs replay, verify and reshard do beyond folding, which is processor.Rebuild:
//
//	swap.go      puts rebuilt stores in the place of those of a node that is stopped
//	verify.go    compares stores with what the topics say, and repairs them if asked to (verify_run.go, verify_redis.go)
//	redis.go     compares what the cache wrote with what the topics say
//	reshard.go   copies the topics to others with another number of partitions, and checks that no number changes
//
// All of it works on stores that no process uses, and says so if one does (DESIGN §12); verify also on copies that a running
// node makes of its own.
package rebuild
