// Package selection finds the page of a user's list.
//
//	filter.go     which channels a list has
//	selection.go  the first n channels or threads of an order
//	bound.go      what cannot be among them
//	pages.go      the pages and totals of all partitions
package selection
