// Package live finds the mapping of a product's changes by its name. The mappings are in package
// product, and in rooms of their own below it.
//
//	follows.go  the tables that a bridge follows
//	live.go     the mappings
package live
