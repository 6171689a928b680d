package guard_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// exclusive has the exclusive locks that product code does not release with a defer right behind
// them: by file, function and lock, with a number from the second one in the same function on. The
// text says what releases it, or that nothing can panic before the statement that does.
var exclusive = map[string]string{
	"app/node/snapshots.go: get: l.asking":                      "the defer is the first statement under it",
	"app/node/snapshots.go: get: l.mu":                          "asks a clock and sets fields",
	"app/node/verify.go: verify: n.verifying":                   "the defer follows the check that it was taken",
	"app/rebuild/redis.go: user: r.mu":                          "writes to a map that newRedisCheck made",
	"cache/cache.go: Ready: c.mu":                               "copies two fields",
	"cache/cache.go: Run: c.mu":                                 "sets a field",
	"cache/cache.go: runSession: c.mu":                          "sets two fields",
	"cache/cache.go: runSession: c.mu 2":                        "sets a field",
	"cache/write.go: write: mu":                                 "appends to a list",
	"cmd/internal/verbs/deadletters/replay.go: one: r.mu":       "copies a field and counts",
	"gateway/delivered.go: report: d.mu":                        "copies and sets fields",
	"gateway/hub.go: Names: h.mu":                               "copies the keys of a map",
	"gateway/hub.go: all: h.mu":                                 "copies pointers of a map of maps",
	"gateway/hub.go: kick: h.mu":                                "copies a list and clears flags of its elements",
	"gateway/internal/sliced/sliced.go: Without: m":             "takes it back for the caller, whose defer releases it",
	"gateway/internal/wire/conn.go: Shut: c.mu":                 "sets a field and empties a list",
	"gateway/internal/wire/ping.go: ping: c.mu":                 "copies fields",
	"gateway/internal/wire/writers.go: alone: ws.mu":            "sets a flag",
	"importer/bridge/batch.go: commit: b.mu":                    "copies a field",
	"importer/bridge/status.go: logState: s.mu":                 "copies a number",
	"importer/writer.go: checkpoint: w.mu":                      "copies fields and two lists of numbers",
	"internal/audit/log.go: flush: l.mu":                        "copies and sets fields",
	"internal/audit/log.go: flush: l.mu 2":                      "subtracts from two counters",
	"internal/audit/log.go: lose: l.mu":                         "adds to a counter",
	"internal/auth/keys.go: newer: k.mu":                        "takes it back after a wait, for the defer at the first Lock of the function",
	"internal/obs/seldom.go: Warn: s.mu":                        "counts and compares times",
	"processor/assign.go: onLost: p.mu":                         "sets a flag",
	"processor/internal/arrivals/arrivals.go: End: r.mu":        "copies and sets fields",
	"processor/internal/arrivals/arrivals.go: Stop: r.mu":       "deletes from maps and adds to a counter",
	"processor/internal/fetch/feeder.go: Run: f.mu":             "copies and sets fields",
	"processor/internal/fetch/gate.go: wait: g.mu":              "copies a field",
	"processor/internal/group/routing.go: Owner: d.mu":          "reads a map and a clock, and starts a guarded goroutine",
	"processor/internal/outputs/lease.go: Close: c.outlet.mu":   "deletes from a map",
	"processor/internal/outputs/publish.go: finish: s.mu":       "copies and sets fields",
	"processor/internal/steps/batch.go: fold: f":                "the next statement but one is a defer of a function that releases it; TimeHold between them asks a clock",
	"processor/internal/steps/batch.go: fold: f 2":              "takes it back between two records, for the defer at the first Lock of the function",
	"processor/internal/steps/progress.go: Wait: p.mu":          "writes to a map, and closes the channel of a waiter that has just been made",
	"projections/hold.go: begin: t.p":                           "each caller of begin defers end, which releases it",
	"projections/internal/store/fuse.go: Unlock: f.mu":          "copies and sets a field",
	"projections/internal/store/fuse.go: open: f.mu":            "sets a flag",
	"projections/internal/store/fuse_opening.go: List: f.mu":    "copies two flags",
	"projections/internal/store/fuse_opening.go: Release: f.mu": "copies and sets fields",
	"query/internal/expiry/expiry.go: notify: s.mu":             "writes to a map that Clock.Stream made",
	"snapshot/check.go: hash: r.mu":                             "writes to a map that New made",
	"snapshot/check.go: known: r.mu":                            "reads a map",
	"snapshot/restore.go: fetch: r.mu":                          "writes to a map that New made",
	"snapshot/upload.go: reuse: r.mu":                           "reads a map",
	"sqlsink/session.go: check: s.mu":                           "copies numbers of a map",
	"sqlsink/sink.go: Ready: s.mu":                              "copies two fields",
	"sqlsink/sink.go: Run: s.mu":                                "sets a field",
	"sqlsink/sink.go: runSession: s.mu":                         "sets two fields",
	"sqlsink/sink.go: runSession: s.mu 2":                       "sets a field",
}

// exclusiveLocks returns the calls of Lock in a file that no defer of Unlock follows, by function
// and lock, and the number of all calls of Lock and TryLock.
func exclusiveLocks(f *ast.File) (undeferred map[string]token.Pos, all int) {
	undeferred = map[string]token.Pos{}
	for _, d := range f.Decls {
		in := "a variable"
		if fn, ok := d.(*ast.FuncDecl); ok {
			in = fn.Name.Name
		}
		safe := map[*ast.CallExpr]bool{}
		deferred, _, _ := locks(d, "Lock", "Unlock")
		for _, call := range deferred {
			safe[call] = true
		}
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) > 0 { // Lock of a file system has an argument
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Lock" && sel.Sel.Name != "TryLock" {
				return true
			}
			if all++; safe[call] {
				return true
			}
			key := in + ": " + types.ExprString(sel.X)
			for i, of := 2, key; undeferred[key] != 0; i++ {
				key = fmt.Sprintf("%s %d", of, i)
			}
			undeferred[key] = call.Pos()
			return true
		})
	}
	return undeferred, all
}

// TestEveryLockIsReleased: the statement after each Lock of product code is a defer of its Unlock,
// or the lock is listed with the reason why a panic does not leave it locked.
func TestEveryLockIsReleased(t *testing.T) {
	used, all := map[string]bool{}, 0
	product(t, func(name string, fset *token.FileSet, f *ast.File) {
		list, n := exclusiveLocks(f)
		all += n
		for key, at := range list {
			key = name + ": " + key
			if used[key] = true; exclusive[key] == "" {
				t.Errorf("%s: Lock is not followed by a defer of Unlock: if a panic between them cannot leave it locked, list it with the reason, as %q", fset.Position(at), key)
			}
		}
	})
	if all < 200 {
		t.Errorf("only %d locks were found", all)
	}
	for key := range exclusive {
		if !used[key] {
			t.Errorf("%s is listed, and is not there", key)
		}
	}
}

// TestHeldLocksAreFound plants locks.
func TestHeldLocksAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"p.mu.Lock(); defer p.mu.Unlock(); f()":                      0,
		"p.mu.Lock(); f(); p.mu.Unlock()":                            1,
		"p.mu.Lock(); defer q.mu.Unlock(); f()":                      1,
		"p.mu.Lock(); defer func() { p.mu.Unlock() }(); f()":         1,
		"p.mu.Lock(); p.mu.Unlock(); p.mu.Lock(); p.mu.Unlock()":     2,
		"p.mu.Unlock(); defer p.mu.Lock(); f()":                      1,
		"if p.mu.TryLock() { f(); p.mu.Unlock() }":                   1,
		"go func() { p.mu.Lock(); f(); p.mu.Unlock() }()":            1,
		"select { case <-c: p.mu.Lock(); defer p.mu.Unlock(); f() }": 0,
		"_, _ = fs.Lock(name); p.mu.RLock(); p.mu.RUnlock()":         0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "planted.go", "package p\nfunc x() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if list, _ := exclusiveLocks(f); len(list) != want {
			t.Errorf("%s: %v are found, want %d", body, list, want)
		}
	}
}
