// Package sqlsink is the role that writes the output topics into PostgreSQL, as tables for analysis
// (DESIGN §7 has the topics, docs/sql.md the tables).
//
// A delta's way through the files (internal/sink has what it shares with the cache):
//
//	config.go     settings; errors.go and metrics.go errors and metrics
//	dsn.go        the address of the database, and its password, which nothing prints
//	database.go   connections, and transactions on them
//	schema.go     the schema is made and migrated (schema/)
//	filling.go    one filling of the database, and the position of each partition
//	sink.go       sessions, one after the other, until the context ends
//	session.go    one membership of the consumer group: poll, collect, flush
//	assign.go     where a partition begins: at its position in the database; how far
//	              behind it is
//	batch.go      decode, and keep the newest row of each key
//	row.go        deltas and records as rows; copy.go the text of a row
//	flush.go      one batch as one transaction; merge.go its statements
//	verify.go     the tables compared with the last values of the topics
//	readall.go    the topics from end to end
//
// What stays true, whatever fails:
//
//   - Positions and rows are written in one transaction, so that each record takes effect once. A
//     database that was restored from a backup, or wiped, goes on from where it is itself.
//   - A transaction begins by locking the positions that it moves, and ends there if another member
//     has taken one of them. So a late writer changes nothing.
//   - A row never replaces one whose stamp dominates its own, whatever the order of the records.
//   - The fold is never waited for, and never waits: this is a consumer of its topics with bounded
//     memory.
package sqlsink
