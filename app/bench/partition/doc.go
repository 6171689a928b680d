// Package partition has the benches of one partition without a processor or a broker: the fold, how
// its cost grows with its state, memory and disk, and snapshots.
//
//	driver.go     folds records into one partition, and drains and cuts it
//	fold.go       the benches fold and scale
//	memory.go     the bench memory
//	cold.go       the bench cold
//	cold_part.go  a partition with cold channels
//	cold_ask.go   queries of cold channels, alone and beside traffic
//	cold_loads.go the traffic beside them
//	cold_serve.go the same by HTTP
//	flat.go       a part of the bench flat: pairs that sleep cost nothing
//	logs.go       the bench logs: what old messages take
//	snapshot.go   the bench snapshot
//	readfs.go     counts what a snapshot reads
//	farbucket.go  restores from a bucket that is far away
package partition
