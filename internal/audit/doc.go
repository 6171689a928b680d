// Package audit writes the audit log of a node (`--audit-log`, DESIGN §10): erasures, operators'
// calls, events that services publish, and refused callers. Each entry is one line of JSON.
//
//	entry.go    Entry, and the parts of a request that it has
//	log.go      Log: which entries are kept and which left out, and the goroutine that writes
//	file.go     the file: its mode, and that it may be moved away
//	handler.go  Handler: entries of plain HTTP handlers
//
// A call never waits for the log and never fails because of it. A line has no token, no message and
// no preview. It names a request by its method, or by its path as far as a handler knows it. Of the
// query and the body it has nothing but the users that are erased.
package audit
