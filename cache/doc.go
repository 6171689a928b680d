// Package cache is the role that fills Redis from the compacted output topics, and the reader of
// what it wrote (DESIGN §8). docs/redis.md has every key and byte.
//
// A delta's way through the files (internal/sink has what it shares with the SQL sink):
//
//	config.go     settings; errors.go and metrics.go what goes wrong and what is counted
//	keys.go       the keys of DESIGN §8
//	cache.go      sessions, one after the other, until the context ends; clear.go empties Redis
//	session.go    one membership of the consumer group: poll, apply, advance; internal/blame finds
//	              a record that panics
//	assign.go     where a partition starts: at the cursor that Redis itself holds; how far behind it is
//	cursor.go     the cursors beside the data, and the epoch that says "complete" (lua/)
//	batch.go      decode, keep the newest value of each key, group by user
//	known.go      what Redis holds, as far as the owner of a partition knows
//	settle.go     which values are stale, and for which Redis must be asked
//	write.go      transactions, repeated until Redis has taken all of them
//	ask.go        who owns the partitions, and what Redis holds of that which is not known
//	chunk.go      the commands of one transaction; chunk_channel.go those of channels' records
//	pointer.go    the commands of read pointers
//	commands.go   the bytes of keys and fields; internal/entry has those of values
//	publish.go    subscribers, and what is published to them after a write
//	written.go    the marks by which a transaction of unknown outcome is recognised
//	advance.go    what is written is so: cursors move on
//	entry.go      the values of an inbox, and channels, by which large ones are counted
//	record.go     how a reader asks for a channel's record, and says what is left out
//	reader.go     a reader's single questions: is Redis complete, a channel's head, a read pointer
//	threads.go    which threads are listed
//	totals.go     what all of it adds up to
//	view.go       an inbox in two round trips
//
// What stays true, whatever fails:
//
//   - A write never replaces a dominating stamp. Stamps are compared here; Redis runs what was
//     decided only if each partition concerned still has the owner that it had before anything was
//     compared. So a late writer, two members with one partition and a repeated or reordered suffix
//     do no harm (write.go).
//   - A partition's cursor in Redis moves on only after everything before it was written, and it is
//     lost together with what was written: after a wipe or a failover the records are read again
//     from where Redis says (lua/advance.lua).
//   - tidemark:epoch exists only while Redis holds every partition up to where it stood when the
//     filling began. Without it a reader answers with a miss, never with a number (view.go).
//   - The fold is never waited for, and never waits: this is a consumer of its topics with bounded
//     memory.
//
// Redis is a single primary, with or without replicas and Sentinel, and no Redis Cluster: what one
// transaction writes would lie in different slots.
package cache
