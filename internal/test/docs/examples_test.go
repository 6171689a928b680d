package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// command matches a line that a reader may type or copy, in a block that does not say so: a command of a
// shell, of SQL or of Redis, JSON or YAML.
var command = regexp.MustCompile(`^(\$ |> [A-Z_]+ |(make|bin/tidemark|tidemark|curl|docker|git|go|grpcurl|helm|kubectl|npm|pip|psql|python3|redis-cli) [a-z-]|(ACL|ALTER|CREATE|DROP|GRANT|SELECT|UPDATE) [A-Z]|\{"|[a-z_]+:$| +[a-z_]+: \{)`)

// TestEveryExampleIsRun: a test runs or checks each example, or an exception has the reason why none
// does. Each entry of examples.yml names examples that exist.
func TestEveryExampleIsRun(t *testing.T) {
	blocks, err := All(Root)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) < 500 {
		t.Errorf("only %d examples were found", len(blocks))
	}
	tests, exceptions, err := runs()
	if err != nil {
		t.Fatal(err)
	}
	runs := append(tests, exceptions...)
	covered := make([]int, len(runs))
	for _, b := range blocks {
		switch {
		case b.Language == "":
			for line := range strings.Lines(b.Text) {
				if command.MatchString(line) {
					t.Errorf("%s:%d: write the language (such as sh, console, sql, json) behind the fence: %s", b.Page, b.Line, line)
				}
			}
			continue
		case !slices.Contains(Runnable, b.Language):
			t.Errorf("%s:%d: the language %q is not known: add it to Runnable", b.Page, b.Line, b.Language)
		}
		known := false
		for i, r := range runs {
			if r.covers(b) {
				known = true
				covered[i]++
			}
		}
		if !known {
			t.Errorf("%s:%d: no test runs this example in %s: write one and add it to tests of examples.yml, or a reason to exceptions", b.Page, b.Line, b.Language)
		}
	}
	for i, r := range runs {
		if (r.Test == "") == (r.Why == "") {
			t.Errorf("%s, %s: an entry has either a test or a reason", r.Pages, r.Language)
		}
		if n := len(r.Begins); covered[i] == 0 || n > 0 && covered[i] != n {
			t.Errorf("%s, %s %q: %d examples, want %d", r.Pages, r.Language, r.Begins, covered[i], max(n, 1))
		}
	}
}

// named matches a test in a reason, with its package.
var named = regexp.MustCompile(`[a-z][a-z/]*\.Test[A-Za-z]+`)

// The tests that run examples, and those that reasons name, exist.
func TestTestsOfExamplesAreThere(t *testing.T) {
	tests, exceptions, err := runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(tests, exceptions...) {
		for _, test := range append(named.FindAllString(r.Why, -1), r.Test) {
			at := strings.LastIndexByte(test, '.')
			if at < 0 {
				continue // of an exception
			}
			pkg, name := test[:at], test[at+1:]
			declared, err := Declared(filepath.Join(Root, pkg))
			if err != nil {
				t.Fatal(err)
			}
			if !declared[name] {
				t.Errorf("%s, %s: package %s has no %s", r.Pages, r.Language, pkg, name)
			}
		}
	}
}
