// Package cache is the role that fills Redis from the compacted output topics, and the reader of what it wrote
// (DESIGN §8). docs/redis.md has every key and byte.
//
// A delta's way through the files:
//
//	cache.go      sessions, one after the other, until the context ends
//	session.go    one membership of the consumer group: poll, apply, advance
//	assign.go     where a partition starts: at the cursor that Redis itself holds
//	batch.go      decode, keep the newest delta of each key, group by user
//	write.go      script calls in pipelines, repeated until Redis has taken all of them
//	cursor.go     the position beside the data, and the epoch that says "complete"
//	lua/          what Redis compares and writes in one step
//	reader.go     an inbox in two round trips; derive.go counts large channels
//
// What stays true, whatever fails:
//
//   - A write never replaces a dominating stamp. The comparison and the write are one script, so this needs no owner, no
//     order and no clock: a late writer, two members with one partition, a repeated or reordered suffix all end in the
//     same bytes (lua/unread.lua, lua/channels.lua).
//   - A partition's cursor in Redis moves on only after everything before it was written, and it is lost together with
//     what was written: after a wipe or a failover the records are read again from where Redis says (lua/advance.lua).
//   - tidemark:epoch exists only while Redis holds every partition up to where it stood when the filling began. Without it
//     a reader answers with a miss, never with a number (reader.go).
//   - The fold is never waited for, and never waits: this is a consumer of its topics with bounded memory.
//
// Redis is a single primary, with or without replicas and Sentinel. Redis Cluster is refused: the keys that change with
// one delta lie in different slots.
package cache
