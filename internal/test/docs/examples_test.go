package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// command matches a line that a reader may type, in a block without a shell language.
var command = regexp.MustCompile(`^(\$ |(make|bin/tidemark|tidemark|curl|docker|git|go|grpcurl|helm|kubectl|npm|pip|psql|python3|redis-cli) [a-z-])`)

// TestEveryExampleIsRun: a test runs or checks each example, or exceptions has a reason why none
// does. Each entry of both lists names an example that exists, and tests that exist.
func TestEveryExampleIsRun(t *testing.T) {
	blocks, err := All(Root)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) < 500 {
		t.Errorf("only %d examples were found", len(blocks))
	}
	runs := append(slices.Clone(tests), exceptions...)
	covered := make([]int, len(runs))
	for _, b := range blocks {
		switch {
		case b.Language == "":
			for line := range strings.Lines(b.Text) {
				if command.MatchString(line) {
					t.Errorf("%s:%d: write the language (sh or console) behind the fence: %s", b.Page, b.Line, line)
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
			t.Errorf("%s:%d: no test runs this example in %s: write one and add it to tests, or a reason to exceptions", b.Page, b.Line, b.Language)
		}
	}
	for i, r := range runs {
		if n := len(r.Begins); covered[i] == 0 || n > 0 && covered[i] != n {
			t.Errorf("%s, %s %q: %d examples, want %d", r.Pages, r.Language, r.Begins, covered[i], max(n, 1))
		}
	}
}

// TestTestsOfExamplesAreThere: the tests that run examples exist, and their package names the page
// or the folder whose pages it reads.
func TestTestsOfExamplesAreThere(t *testing.T) {
	for _, r := range tests {
		at := strings.LastIndexByte(r.Test, '.')
		pkg, name := r.Test[:at], r.Test[at+1:]
		declared, err := Declared(filepath.Join(Root, pkg))
		if err != nil {
			t.Fatal(err)
		}
		if !declared[name] {
			t.Errorf("%s, %s: package %s has no %s", r.Pages, r.Language, pkg, name)
		}
	}
}
