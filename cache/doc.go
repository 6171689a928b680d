// Package cache is the role that fills Redis from the compacted output topics, and the reader of
// these values (DESIGN §8). docs/redis.md has every key and byte.
//
// A delta's way through the files (internal/sink has what it shares with the SQL sink):
//
//	config.go     settings; errors.go and metrics.go: errors and metrics
//	keys.go       the keys of DESIGN §8
//	cache.go      sessions, one after the other, until the context ends; clear.go: emptying Redis
//	session.go    one membership of the consumer group: poll, apply, advance; internal/blame
//	              finds a record that panics
//	assign.go     the start of a partition at its cursor in Redis, and its lag
//	cursor.go     the cursors beside the data, and the epoch, which states "complete" (lua/)
//	batch.go      decode, keep the newest value of each key, group by user
//	known.go      a known value in Redis; table.go: all of a partition's
//	settle.go     finding stale values, and values that need a query to Redis
//	write.go      transactions, repeated until Redis has executed all of them
//	lookup.go     reading the owners of partitions, and the unknown values in Redis
//	chunk.go      the commands of one transaction; chunk_channel.go: those for channel records
//	pointer.go    the commands of read pointers
//	commands.go   the bytes of keys and fields; internal/entry has those of values
//	publish.go    finding subscribers, and publishing to them after a write
//	written.go    the marks that show whether a transaction of unknown outcome was executed
//	advance.go    moving the cursors after writes
//	entry.go      the types of a reader's answers
//	record.go     reading a channel's record, and the error for families that are left out
//	reader.go     single reads: is Redis complete, a channel's head, a read pointer
//	threads.go    listed threads
//	totals.go     totals
//	view.go       an inbox in two round trips
//
// The invariants, whatever fails:
//
//   - A write never replaces a dominating stamp. Stamps are compared here. Redis executes the
//     resulting writes only if each partition still has the owner that it had before the
//     comparison. So a late writer, two members with one partition and a repeated or reordered
//     suffix are harmless (write.go).
//   - A partition's cursor in Redis moves only after everything before it was written, and it is
//     lost together with the written values: after a wipe or a failover the records are read again
//     from the cursor that is left (lua/advance.lua).
//   - tidemark:epoch exists only while Redis holds every partition up to where it stood when the
//     filling began. Without it a reader answers with a miss, never with a number (view.go).
//   - The cache and the fold never wait for each other: the cache is a consumer of the fold's
//     topics, with bounded memory.
//
// Redis is a single primary, with or without replicas and Sentinel, and no Redis Cluster: the keys
// of one transaction would be in different slots.
package cache
