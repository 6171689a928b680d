// Package feed writes the events of a mix into topics, and measures the least that a consumer of them
// with outputs can cost.
//
//	feed.go   writing events, at once or withheld in a transaction
//	echo.go   the echo
package feed
