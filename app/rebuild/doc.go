// Package rebuild is what the verbs replay, verify and reshard do beyond folding, which is
// processor.Rebuild:
//
//	published.go        up to where a group has published
//	settings.go         settings that the stores of a node were not folded with
//	swap.go             puts rebuilt stores in the place of those of a stopped node
//	result.go           what a comparison is asked, and what it finds
//	verify.go           one comparison from beginning to end
//	verify_run.go       compares stores with the topics
//	verify_redis.go     compares Redis, and repairs it
//	redis_check.go      what a comparison with Redis has seen and found
//	redis.go            one inbox after the other
//	redis_said.go       what users say of a channel, and mentions
//	redis_threads.go    threads
//	redis_strays.go     keys that no partition knows of
//	redis_newer.go      values from records that a store does not have
//	redis_late.go       values that the cache has not read yet
//	reshard.go          copies the topics to others with another number of partitions
//	reshard_copy.go     the records of one topic
//	reshard_compare.go  checks that no number changes
//
// All of it works on stores that no process uses, and says so if one does (DESIGN §12); verify also
// on copies that a running node makes of its own.
package rebuild
