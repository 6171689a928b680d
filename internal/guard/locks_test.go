package guard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// brief has the places that release a read lock without defer, by file and lock. What they do under
// it cannot panic.
var brief = map[string]string{
	"processor/membership.go: p.mu":                      "copies a list of numbers",
	"processor/node.go: p.mu":                            "copies a list of workers",
	"processor/release.go: p.mu":                         "copies a list of workers",
	"processor/shutdown.go: p.mu":                        "copies a map",
	"processor/standbys.go: s.p.mu":                      "copies lists of workers",
	"processor/sweep.go: p.mu":                           "copies a list of names",
	"projections/checkpoint.go: p":                       "loads a flag and adds to a counter",
	"projections/internal/giveway/rwmutex.go: l.RWMutex": "is RLock itself",
	"query/internal/peers/peers.go: p.mu":                "looks into a map",
}

// readLocks returns the locks that a file takes with RLock and does not release with the statement
// after it, which is a defer.
func readLocks(f ast.Node) (undeferred []ast.Expr, all int) {
	_, undeferred, all = locks(f, "RLock", "RUnlock")
	return undeferred, all
}

// locks returns the locks that a piece of code takes with a statement of its own, and those of them
// that the next statement, a defer, does not release. deferred are the calls that are followed by
// such a defer.
func locks(f ast.Node, lock, unlock string) (deferred []*ast.CallExpr, undeferred []ast.Expr, all int) {
	lists := func(n ast.Node) []ast.Stmt {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return n.List
		case *ast.CaseClause:
			return n.Body
		case *ast.CommClause:
			return n.Body
		}
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		list := lists(n)
		for i, s := range list {
			locked := called(s, lock)
			if locked == nil {
				continue
			}
			all++
			if i+1 < len(list) {
				if d, ok := list[i+1].(*ast.DeferStmt); ok && released(d.Call, locked, unlock) {
					deferred = append(deferred, s.(*ast.ExprStmt).X.(*ast.CallExpr))
					continue
				}
			}
			undeferred = append(undeferred, locked)
		}
		return true
	})
	return deferred, undeferred, all
}

// called returns what a method is called on by a statement that does nothing else.
func called(s ast.Stmt, method string) ast.Expr {
	x, ok := s.(*ast.ExprStmt)
	if !ok {
		return nil
	}
	call, ok := x.X.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == method {
		return sel.X
	}
	return nil
}

func released(call *ast.CallExpr, locked ast.Expr, unlock string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == unlock && types.ExprString(sel.X) == types.ExprString(locked)
}

// TestEveryReadLockIsReleased: the statement after each RLock of product code is a defer of its
// RUnlock. A panic under a lock of a partition would otherwise block its fold for ever.
func TestEveryReadLockIsReleased(t *testing.T) {
	used, locks := map[string]bool{}, 0
	product(t, func(name string, fset *token.FileSet, f *ast.File) {
		list, n := readLocks(f)
		locks += n
		for _, x := range list {
			key := name + ": " + types.ExprString(x)
			if used[key] = true; brief[key] == "" {
				t.Errorf("%s: %s.RLock is not followed by a defer of RUnlock", fset.Position(x.Pos()), types.ExprString(x))
			}
		}
	})
	if locks < 20 {
		t.Errorf("only %d locks were found", locks)
	}
	for key := range brief {
		if !used[key] {
			t.Errorf("%s is excused, and is not there", key)
		}
	}
}

// TestHeldReadLocksAreFound plants locks.
func TestHeldReadLocksAreFound(t *testing.T) {
	for body, safe := range map[string]bool{
		"p.RLock(); defer p.RUnlock(); f()":                    true,
		"p.RLock(); f(); p.RUnlock()":                          false,
		"p.RLock(); defer q.RUnlock(); f()":                    false,
		"switch { case a: p.RLock(); f(); p.RUnlock() }":       false,
		"g(func() { p.RLock(); defer p.RUnlock(); f() })":      true,
		"g(func() { p.list[0].RLock(); f(); p.list[0].x() })":  false,
		"if a { p.mu.RLock(); defer p.mu.RUnlock() }; f(p.mu)": true,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "planted.go", "package p\nfunc x() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if list, n := readLocks(f); n != 1 || (len(list) == 0) != safe {
			t.Errorf("%s: %d of %d locks are found", body, len(list), n)
		}
	}
}
