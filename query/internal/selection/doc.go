// Package selection selects the page of a user's list.
//
//	filter.go     the channels of a list
//	selection.go  the first n channels or threads of an order
//	bound.go      a bound behind which nothing can be on the page
//	pages.go      the pages and totals of all partitions
package selection
