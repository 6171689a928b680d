// Package guard runs code that may panic, so that a panic ends one call, one partition or one file,
// and neither ends the process nor leaves a lock held.
//
// A panic in a goroutine ends the process unless that goroutine recovers. Product code therefore
// starts goroutines with Go, AfterFunc, OnDone and Group, and never with a go statement,
// time.AfterFunc, context.AfterFunc or x/sync's errgroup; TestEveryGoroutineIsGuarded lists them
// all. Code that must release something (a lock, a count of readers) defers the release. Err and
// Recover turn a panic into an *Error, which the caller reports as a failure of its call.
//
// The pieces:
//
//	guard.go   Err, Recover, Error
//	go.go      Go, Loop, AfterFunc, OnDone: goroutines and timers
//	group.go   Group: an errgroup whose functions may panic
//	within.go  Within: a call that is given up after a while
//
// Package httpguard does the same for HTTP handlers.
package guard
