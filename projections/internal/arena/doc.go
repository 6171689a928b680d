// Package arena holds many small things of a partition without pointers between them: the garbage
// collector sees a few large slices instead of millions of objects, and a reference is 32 bits.
//
//	slab.go            elements of one size by index, and pools of objects
//	table.go           a hash table from hashes to indexes
//	quotient_table.go  a hash table of four bytes an entry
//	shared_table.go    a table that can be read while it is written
//	blobs.go           byte strings by reference
//	heap.go            references under keys, the least first
//	order.go           numbers in the order of their ids
//	vacant.go          when to walk a list for what has left it
//	coldset.go         hashes of the ids of cold channels
//	huge_linux.go      huge pages under large slices
//	huge_other.go      systems without them
//	heap_size.go       the memory that all of this takes
package arena
