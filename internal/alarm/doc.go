// Package alarm serves any number of pending moments with one timer.
//
//	queue.go   the pending moments in order, for one goroutine
//	set.go     the pending moments for many goroutines, and the loop that waits for the next one
package alarm
