// Package adopt has the verbs that work on the data of other chat products.
//
//	source_flags.go  the location of a product's data
//	import.go        writes its history
//	import_slot.go   makes and removes the replication slot of an import
//	bridge.go        follows its database
//	compare.go       compares its numbers with ours
//	compare_flags.go   the flags of a comparison
//	compare_position.go  how far the nodes have folded the topics
//	compare_follow.go  repeats a comparison
//	heal.go          prints statements that correct its numbers
//	serve.go         serves health and metrics
//	demo_source.go   makes a small source to try all of it
package adopt
