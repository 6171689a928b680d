// Package arena holds many small things of a partition without pointers between them: the garbage
// collector sees a few large slices instead of millions of objects, and a reference is 32 bits.
//
//	slab.go         elements of one size by index, and pools of objects
//	table.go        from a hash to the index of what has it
//	shared_table.go a table that is asked while it is written
//	blobs.go        byte strings by reference
//	coldset.go      hashes of ids that memory holds nothing else of
//	huge_linux.go   huge pages under large slices
//	huge_other.go   where there are none
//	heap_size.go    what all of that costs in memory
package arena
