// Package giveway lets folds and compactions give up their core while a query waits or reads. Go
// may run a goroutine for 10 ms before it runs another on that core.
//
//	giveway.go  queries, and how others give way to them
//	rwmutex.go  a lock that lets queries in
package giveway

import (
	"runtime"
	"sync/atomic"
	"time"
)

// queries is the number of queries of this process that wait for a partition or read cold channels.
var queries atomic.Int64

// Begin counts a query. The caller calls End once.
func Begin() { queries.Add(1) }

// End counts a query no longer.
func End() { queries.Add(-1) }

// Wanted reports whether there is a query that wants a core.
func Wanted() bool { return queries.Load() > 0 }

// Yield lets another goroutine run first if a query wants a core. The caller holds no lock.
func Yield() {
	if Wanted() {
		runtime.Gosched()
	}
}

// Pause sleeps for 20 us, or up to 1 ms if the core is idle, if a query wants a core. Goroutines that
// wake each other, as a compaction and the one that writes its blocks, need it: after a Yield, they
// run again before the query does.
func Pause() {
	if Wanted() {
		time.Sleep(20 * time.Microsecond)
	}
}
