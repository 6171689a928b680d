// Package adopt has the verbs that work on the data of other chat products.
//
//	source_flags.go  where a product's data is
//	import.go        writes its history
//	import_slot.go   makes and removes the replication slot of an import
//	bridge.go        follows its database
//	compare.go       compares its numbers with ours
//	compare_flags.go   what a comparison takes
//	compare_follow.go  compares again and again
//	heal.go          prints statements that set its numbers right
//	serve.go         serves health and metrics
//	demo_source.go   makes a small source to try all of it
package adopt
