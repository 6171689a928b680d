// Package needs checks that a database has the tables and columns that a product's queries name,
// and that the user of --source may read them.
//
//	needs.go  what a product needs, and the check
//	words.go  what is missing, in words, with the way out
package needs
