package operate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

const (
	root      = "../../.."
	rulesFile = root + "/deploy/prometheus/tidemark.yml"
	rulesTest = root + "/deploy/prometheus/tidemark_test.yml"
	runbook   = "https://github.com/tidemark/tidemark/blob/main/docs/runbook.md#"
)

func alerts(t *testing.T) []Rule {
	t.Helper()
	all, err := Rules(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 15 {
		t.Fatalf("only %d alerts", len(all))
	}
	return all
}

// missing returns the metrics that an expression names and that no process exports. An expression
// names a part of a histogram, such as its count.
func missing(expr string, exported map[string]map[string]*dto.MetricFamily) (names []string) {
	for _, name := range named(expr) {
		found := false
		for _, families := range exported {
			f := families[name]
			if whole := families[partOfOne.ReplaceAllString(name, "")]; f == nil && whole.GetType() == dto.MetricType_HISTOGRAM {
				f = whole
			}
			found = found || f != nil
		}
		if !found {
			names = append(names, name)
		}
	}
	return names
}

func TestAlertsNameMetricsAndLeadToTheRunbook(t *testing.T) {
	exported := export(t)
	page, err := os.ReadFile(root + "/docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors, seen := docs.Anchors(string(page)), map[string]bool{}
	for _, r := range alerts(t) {
		if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Tidemark") {
			t.Errorf("%s: a name begins with Tidemark, and no two alerts have one", r.Alert)
		}
		seen[r.Alert] = true
		if len(named(r.Expr)) == 0 {
			t.Errorf("%s names no metric: %s", r.Alert, r.Expr)
		}
		if names := missing(r.Expr, exported); len(names) > 0 {
			t.Errorf("%s names %v, which no process exports", r.Alert, names)
		}
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s has the severity %q", r.Alert, s)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s does not say what it is about", r.Alert)
		}
		if anchor, ok := strings.CutPrefix(r.Annotations["runbook_url"], runbook); !ok || !anchors[anchor] {
			t.Errorf("%s leads to %q: docs/runbook.md has no such section", r.Alert, r.Annotations["runbook_url"])
		}
	}
	if got := missing(`tidemark_no_such_total + tidemark_processor_ready_count`, exported); len(got) != 2 {
		t.Errorf("of two metrics that do not exist %v are missed", got)
	}
}

// promtool runs Prometheus' own tool.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(testkit.Program(t, "promtool"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	promtool(t, filepath.Dir(rulesFile), "check", "rules", filepath.Base(rulesFile))
	promtool(t, filepath.Dir(rulesTest), "test", "rules", filepath.Base(rulesTest))
}

// Each alert has a test in which it fires and a test in which it does not.
func TestEveryAlertIsTested(t *testing.T) {
	b, err := os.ReadFile(rulesTest)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alerts(t) {
		for _, name := range []string{r.Alert + " fires", r.Alert + " does not fire"} {
			if !strings.Contains(string(b), "  - name: "+name+"\n") {
				t.Errorf("tidemark_test.yml has no test %q", name)
			}
		}
	}
}

// Each alert fires in a test of this package that causes on a running node what the alert is for.
func TestEveryAlertIsCaused(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	caused := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				for _, name := range expected(call) {
					caused[name] = true
				}
			}
			return true
		})
	}
	for _, r := range alerts(t) {
		if !caused[r.Alert] {
			t.Errorf("no test causes %s: let what it is for happen on a running node, and call fires", r.Alert)
		}
		delete(caused, r.Alert)
	}
	for name := range caused {
		t.Errorf("a test expects %s, and tidemark.yml has no such alert", name)
	}
}

// expected returns the alerts that a call of fires or firesOver expects.
func expected(call *ast.CallExpr) (names []string) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "fires" && f.Sel.Name != "firesOver" {
		return nil
	}
	for _, arg := range call.Args {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if name, err := strconv.Unquote(lit.Value); err == nil {
				names = append(names, name)
			}
		}
	}
	return names
}
