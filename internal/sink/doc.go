// Package sink is what the consumers of the output topics have in common: the cache, which fills
// Redis, and the SQL sink. Both keep the offset of each partition beside what they write, so the
// group's own offsets are for lag monitors alone.
//
//	partition.go   a partition of a topic, and where its log begins and ends
//	logs.go        asking the brokers where the logs begin and end
//	group.go       the options of a member of the group, and which fetch errors pass
//	commit.go      group offsets
//	owned.go       the partitions that a member owns, and how far it is in each
//	complete.go    whether the target is complete
//	errors.go      a record that was left out
//	lag.go         the lag of each partition, as a metric
package sink
