package guard_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notProduct has the directories that are not part of a node.
var notProduct = []string{
	"app/bench", "internal/test/benchcompare", "internal/test/chaos", "internal/test/checker", "internal/guard", "internal/test/model", "internal/test/museum", "internal/test/script",
	"internal/test/testkit", "internal/test/workload", "client", "clients", "deploy", "docs", "tools",
}

// excused has goroutines that need no guard, by file and starting function.
var excused = map[string]string{
	"cmd/tidemark/main.go: go":                                      "a second signal ends the process",
	"processor/client.go: kgo.WithLogger":                           "ClientLog.Log guards itself",
	"processor/internal/engine/clients.go: kgo.WithLogger":          "ClientLog.Log guards itself",
	"processor/client.go: kgo.Dialer":                               "Outlet.Dial guards itself",
	"processor/client.go: kgo.Balancers":                            "Balancer guards its methods",
	"processor/client.go: kgo.RecordPartitioner":                    "takes a remainder",
	"processor/client.go: kgo.ProducerBatchMaxBytesFn":              "compares two names",
	"app/node/cache.go: AddHook":                                    "runs in the goroutine of the call, and times it",
	"app/node/gateway.go: AddHook":                                  "runs in the goroutine of the call, and times it",
	"internal/edge/server.go: ErrorLog":                             "lines.Write guards itself",
	"internal/inflate/inflate.go: AddCleanup":                       "adds to a number",
	"processor/internal/fetch/catchup.go: AfterFunc":                "deletes from a map",
	"gateway/internal/wire/accept.go: OnPongReceived":               "runs in the goroutine that reads the socket",
	"gateway/internal/wire/accept.go: OnPingReceived":               "runs in the goroutine that reads the socket",
	"internal/auth/source.go: CheckRedirect":                        "runs in the goroutine of the call",
	"internal/config/tls.go: GetCertificate":                        "served.get guards itself",
	"internal/config/peertls.go: GetClientCertificate":              "served.get guards itself",
	"query/internal/peers/peers.go: DialContext":                    "the standard library's own",
	"processor/client.go: kgo.OnPartitionsAssigned":                 "Processor.callback guards it",
	"processor/client.go: kgo.OnPartitionsRevoked":                  "Processor.callback guards it",
	"processor/client.go: kgo.OnPartitionsLost":                     "Processor.callback guards it",
	"app/node/statecodes.go: Collect":                               "guards the reading of /readyz",
	"app/node/statecodes.go: Describe":                              "sends a constant",
	"processor/collector.go: Collect":                               "collector.attempt guards its parts",
	"processor/collector.go: Describe":                              "sends constants",
	"processor/internal/engine/buffered.go: Collect":                "adds numbers",
	"processor/internal/outputs/publish.go: Produce":                "counts, and hands an outcome to the inbox",
	"internal/sink/group.go: kgo.OnPartitionsRevoked":               "Client guards it",
	"internal/sink/group.go: kgo.OnPartitionsLost":                  "Client guards it",
	"gateway/internal/presence/queued.go: kgo.OnPartitionsAssigned": "notes a flag",
	"gateway/internal/presence/queued.go: kgo.OnPartitionsRevoked":  "notes a flag",
	"gateway/internal/presence/queued.go: kgo.OnPartitionsLost":     "notes a flag",
	"app/rebuild/reshard_copy.go: Produce":                          "notes an error",
	"gateway/metrics.go: prometheus.NewGaugeFunc":                   "loads a number",
	"gateway/internal/presence/judging.go: Produce":                 "hands on an error",
	"gateway/produce.go: TryProduce":                                "loads a number",
	"query/internal/ingest/publish.go: Produce":                     "notes an error",
	"app/erase/write.go: Produce":                                   "notes an error",
	"importer/writer.go: Produce":                                   "notes an error",
	"importer/bridge/batch.go: Produce":                             "notes an error",
	"importer/bridge/status.go: prometheus.NewGaugeFunc":            "reads times",
	"cmd/tidemark/emit.go: Produce":                                 "hands on an error",
	"app/demo/driver.go: Produce":                                   "notes an error",
	"cmd/internal/verbs/deadletters/replay.go: Produce":             "notes an error",
}

// start is a place in the code that runs a function in another goroutine.
type start struct {
	at  token.Position
	how string
	why string // why it is safe; "" if it is not
}

// starts finds the starts in a file.
func starts(fset *token.FileSet, f *ast.File) (list []start) {
	add := func(n ast.Node, how, why string) { list = append(list, start{fset.Position(n.Pos()), how, why}) }
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if n.Path.Value == `"golang.org/x/sync/errgroup"` {
				add(n, "errgroup", "")
			}
		case *ast.GoStmt:
			add(n, "go", guardedCall(n.Call.Fun))
		case *ast.FuncDecl:
			if n.Recv != nil && (n.Name.Name == "Collect" || n.Name.Name == "Describe") && len(n.Type.Params.List) == 1 {
				add(n, n.Name.Name, "")
			}
		case *ast.CompositeLit: // a library's listener, each of whose fields is a function
			if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "EventListener" {
				for _, e := range n.Elts {
					if field, ok := e.(*ast.KeyValueExpr); ok {
						add(field, "pebble.EventListener", contains(field.Value))
					}
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(hooks, key.Name) && !isNil(n.Value) {
				add(n, key.Name, contains(n.Value))
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if sel, ok := to.(*ast.SelectorExpr); ok && slices.Contains(hooks, sel.Sel.Name) && i < len(n.Rhs) && !isNil(n.Rhs[i]) {
					add(n, sel.Sel.Name, contains(n.Rhs[i]))
				}
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) == 0 {
				return true
			}
			last := n.Args[len(n.Args)-1]
			switch name := sel.Sel.Name; {
			case isGuard(sel.X) && slices.Contains([]string{"Go", "AfterFunc", "OnDone"}, name):
				add(n, "guard."+name, "guard")
			case name == "AfterFunc":
				add(n, name, endsContext(last))
			case name == "Go" && len(n.Args) == 2: // of a guard.Group
				add(n, "Group.Go", "guard")
			case name == "Go" && len(n.Args) == 1:
				add(n, "WaitGroup.Go", guardedCall(last))
			case slices.Contains(clientOptions, name):
				add(n, "kgo."+name, cmp.Or(contains(last), librarysOwn(last)))
			case name == "AddHook" || name == "RegisterOnShutdown":
				add(n, name, contains(last))
			case (name == "AddCleanup" || name == "SetFinalizer") && len(n.Args) > 1:
				add(n, name, contains(n.Args[1]))
			case (name == "Produce" || name == "TryProduce") && len(n.Args) == 3:
				add(n, name, contains(last))
			case name == "NewGaugeFunc" || name == "NewCounterFunc":
				add(n, "prometheus."+name, contains(last))
			}
		}
		return true
	})
	return list
}

// clientOptions are the options of the Kafka client that take code, which it runs in goroutines of
// its own.
var clientOptions = []string{
	"OnPartitionsAssigned", "OnPartitionsRevoked", "OnPartitionsLost", "OnOffsetsFetched", "AdjustFetchOffsetsFn", "AutoCommitCallback",
	"WithHooks", "WithLogger", "Dialer", "Balancers", "RecordPartitioner", "ProducerBatchMaxBytesFn",
}

// hooks are fields of HTTP servers, transports, TLS, sockets and Redis with code that runs in
// goroutines of these.
var hooks = []string{
	"ConnState", "ConnContext", "BaseContext", "DialContext", "DialTLSContext", "GetProxyConnectHeader", "CheckRedirect",
	"GetCertificate", "GetClientCertificate", "GetConfigForClient", "VerifyConnection", "VerifyPeerCertificate",
	"Dialer", "OnConnect", "CredentialsProvider", "CountError", "OnProxyConnectResponse", "ErrorLog", "OnPingReceived", "OnPongReceived",
}

// librarysOwn returns why an argument is safe that the Kafka client makes itself and that runs no
// code of Tidemark.
func librarysOwn(x ast.Expr) string {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	of, ok := sel.X.(*ast.Ident)
	if !ok || of.Name != "kgo" && of.Name != "kprom" {
		return ""
	}
	why := "the library's own"
	for _, arg := range call.Args {
		ast.Inspect(arg, func(n ast.Node) bool {
			if _, ok := n.(*ast.FuncLit); ok {
				why = ""
			}
			return why != ""
		})
	}
	return why
}

func isNil(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "nil"
}

func isGuard(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "guard"
}

// contains returns "guard" if an expression contains a call of it.
func contains(x ast.Node) (why string) {
	ast.Inspect(x, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isGuard(sel.X) {
			why = "guard"
		}
		return why == ""
	})
	return why
}

// guardedCall returns why a function is safe if everything that it does runs under guard: its first
// statement calls guard, and no other statement calls anything except to cancel a context.
func guardedCall(fun ast.Expr) string {
	lit, ok := fun.(*ast.FuncLit)
	if !ok || len(lit.Body.List) == 0 || contains(lit.Body.List[0]) == "" {
		return ""
	}
	var call ast.Expr
	switch first := lit.Body.List[0].(type) {
	case *ast.ExprStmt:
		call = first.X
	case *ast.AssignStmt:
		call = first.Rhs[0]
	}
	if c, ok := call.(*ast.CallExpr); !ok {
		return ""
	} else if sel, ok := c.Fun.(*ast.SelectorExpr); !ok || !isGuard(sel.X) {
		return ""
	}
	why := "guard"
	for _, rest := range lit.Body.List[1:] {
		ast.Inspect(rest, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && endsContext(c.Fun) == "" {
				why = ""
			}
			return true
		})
	}
	return why
}

// endsContext returns why a function is safe that is cancel, or that only calls cancel.
func endsContext(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		if f.Name == "cancel" {
			return "ends a context"
		}
	case *ast.FuncLit:
		if len(f.Body.List) != 1 {
			return ""
		}
		if s, ok := f.Body.List[0].(*ast.ExprStmt); ok {
			if c, ok := s.X.(*ast.CallExpr); ok && !slices.ContainsFunc(c.Args, isCall) {
				return endsContext(c.Fun)
			}
		}
	}
	return ""
}

func isCall(x ast.Expr) bool {
	_, is := x.(*ast.CallExpr)
	return is
}

// product calls fn for each file of product code, and fails if there are too few.
func product(t *testing.T, fn func(name string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if slices.Contains(notProduct, name) || strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "node_modules" || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err == nil {
			fn(name, fset, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 300 {
		t.Errorf("only %d files were looked at", files)
	}
}

// TestEveryGoroutineIsGuarded lists (-v) every place of product code that runs code in another
// goroutine, its own or a library's, and how it is guarded: a panic there would end the process.
func TestEveryGoroutineIsGuarded(t *testing.T) {
	used := map[string]bool{}
	product(t, func(name string, fset *token.FileSet, f *ast.File) {
		for _, s := range starts(fset, f) {
			key := name + ": " + s.how
			why := s.why
			if why == "" {
				why = excused[key]
				used[key] = true
			}
			if why == "" {
				t.Errorf("%s:%d: %s: a panic there ends the process: start it with internal/guard", name, s.at.Line, s.how)
			}
			t.Logf("%s:%d: %s: %s", name, s.at.Line, s.how, why)
		}
	})
	for key := range excused {
		if !used[key] {
			t.Errorf("%s is excused, and is not there", key)
		}
	}
}

// TestUnguardedGoroutinesAreFound plants one unguarded goroutine of each kind.
func TestUnguardedGoroutinesAreFound(t *testing.T) {
	for body, safe := range map[string]bool{
		`go work()`:                                         false,
		`go func() { work() }()`:                            false,
		`go func() { guard.Do("x", work) }()`:               true,
		`go func() { defer work(); guard.Do("x", work) }()`: false,
		`go func() { guard.Do("x", work); work() }()`:       false,
		`go func() { work(guard.Do("x", work)) }()`:         false,
		`guard.Go("x", log, work)`:                          true,
		`wg.Go(work)`:                                       false,
		`wg.Go(func() { work() })`:                          false,
		`wg.Go(func() { errs[1] = guard.Err("x", work) })`:  true,
		`wg.Go(func() { err := guard.Err("x", work); if err != nil { cancel(err) } })`: true,
		`group.Go("x", work)`:                                                       true,
		`time.AfterFunc(d, work)`:                                                   false,
		`time.AfterFunc(d, cancel)`:                                                 true,
		`context.AfterFunc(ctx, func() { cancel(errStopping) })`:                    true,
		`context.AfterFunc(ctx, func() { cancel(work()) })`:                         false,
		`context.AfterFunc(ctx, func() { cancel(nil); work() })`:                    false,
		`guard.AfterFunc(d, "x", log, work)`:                                        true,
		`cl.Produce(ctx, r, work)`:                                                  false,
		`kgo.OnPartitionsLost(work)`:                                                false,
		`kgo.RecordPartitioner(kgo.ManualPartitioner())`:                            true,
		`kgo.RecordPartitioner(kgo.BasicConsistentPartitioner(func(string) {}))`:    false,
		`kgo.WithHooks(hook)`:                                                       false,
		`kgo.Dialer(dial)`:                                                          false,
		`kgo.Balancers(balancer)`:                                                   false,
		`client.AddHook(hook)`:                                                      false,
		`_ = &pebble.EventListener{BackgroundError: work}`:                          false,
		`_ = pebble.EventListener{WriteStallBegin: func() { guard.Do("x", work) }}`: true,
		`server.RegisterOnShutdown(work)`:                                           false,
		`runtime.AddCleanup(x, work, 1)`:                                            false,
		`server.ErrorLog = log.New(w, "", 0)`:                                       false,
		`server.ConnState = work`:                                                   false,
		`_ = http.Transport{DialContext: work}`:                                     false,
		`_ = tls.Config{VerifyConnection: func() { guard.Do("x", work) }}`:          true,
		`prometheus.NewGaugeFunc(o, work)`:                                          false,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", fmt.Sprintf("package x\nfunc f() {\n%s\n}\n", body), 0)
		if err != nil {
			t.Fatal(err)
		}
		list := starts(fset, f)
		if len(list) == 0 {
			t.Errorf("%s is not found", body)
			continue
		}
		if got := list[0].why != ""; got != safe {
			t.Errorf("%s: safe %v, want %v", body, got, safe)
		}
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x.go", "package x\nimport \"golang.org/x/sync/errgroup\"\nfunc (c) Collect(ch chan<- int) {}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	if list := starts(fset, f); len(list) != 2 || list[0].why+list[1].why != "" {
		t.Errorf("errgroup and a collector: %v", list)
	}
}
