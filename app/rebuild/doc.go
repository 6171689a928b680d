// Package rebuild has the work of the verbs replay, verify and reshard beyond folding, which is
// processor.Rebuild:
//
//	published.go        the offsets up to which a group has published
//	settings.go         refuses settings that differ from those of a node's stores
//	swap.go             replaces the stores of a stopped node with rebuilt ones
//	result.go           the configuration and the result of a comparison
//	verify.go           one comparison from beginning to end
//	verify_run.go       compares stores with the topics
//	verify_redis.go     compares Redis, and repairs it
//	redis_check.go      the state and the findings of a comparison with Redis
//	redis.go            one inbox after the other
//	redis_settings.go   users' settings of channels, and mentions
//	redis_threads.go    threads
//	redis_strays.go     keys that belong to no partition's state
//	redis_newer.go      values from records that a store does not have
//	redis_late.go       values that the cache has not read yet
//	reshard.go          copies the topics to others with another number of partitions
//	reshard_copy.go     the records of one topic
//	reshard_compare.go  checks that no number changes
//
// All of it works on stores that no process uses, and refuses others with the reason (DESIGN §12).
// verify also works on copies that a running node makes of its own stores.
package rebuild
