package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/config"
)

const root = "../.."

func document(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	flagName  = regexp.MustCompile("--([a-z][a-z-]*[a-z])")
	kafkas    = regexp.MustCompile("kafka-[a-z-]+(\\.sh)? [^`]*") // tools of Kafka, with flags of their own
	namedTest = regexp.MustCompile("`([a-z/]+)/(Test[A-Za-z0-9]+)`")
	namedFile = regexp.MustCompile("`([a-z-]+/[a-z_/]+\\.go|[a-z-]+\\.yml|deploy/Dockerfile)`")
)

// The table of `run` lists every flag of it, and no document names a flag that no verb has.
func TestDocumentsKnowTheFlags(t *testing.T) {
	all := nodes(t)
	known := map[string]bool{"help": true, "version": true, "build": true, "from-literal": true} // the third is docker's, the fourth kubectl's
	for _, n := range all {
		for _, f := range n.Flags {
			known[f.Name] = true
		}
	}
	reference := document(t, "docs/reference.md")
	for _, f := range all["run"].Flags {
		if f.Name != "help" && !strings.Contains(reference, "`--"+f.Name+"`") {
			t.Errorf("docs/reference.md does not explain --%s of run", f.Name)
		}
	}
	for _, path := range []string{"README.md", "docs/deploy.md", "docs/runbook.md", "docs/reference.md", "docs/design.md"} {
		for _, m := range flagName.FindAllStringSubmatch(kafkas.ReplaceAllString(document(t, path), ""), -1) {
			if !known[m[1]] {
				t.Errorf("%s names --%s, which no verb has", path, m[1])
			}
		}
	}
}

// The tests and files that docs/security.md names for its rules are there, and each rule names a
// test.
func TestSecurityNamesWhatIsThere(t *testing.T) {
	page := document(t, "docs/security.md")
	tests := 0
	for _, m := range namedTest.FindAllStringSubmatch(page, -1) {
		if m[2] == "TestName" {
			continue // how to run one
		}
		tests++
		files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(name string) bool {
			b, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(b), "\nfunc "+m[2]+"(t *testing.T)")
		}) {
			t.Errorf("there is no test %s in %s", m[2], m[1])
		}
	}
	if tests < 60 {
		t.Errorf("%d tests are named", tests)
	}
	_, table, _ := strings.Cut(page, "| rule | kept in | attacked by |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rules := lines(table)
	for _, row := range rules {
		cells := strings.Split(row, " | ")
		if len(cells) != 3 {
			t.Errorf("a rule has %d cells, want 3: %s", len(cells), row)
		} else if !namedTest.MatchString(cells[2]) {
			t.Errorf("no test attacks the rule %s", cells[0])
		}
	}
	if len(rules) < 50 {
		t.Errorf("%d rules are listed", len(rules))
	}
	for _, m := range namedFile.FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Error(err)
		}
	}
}

// The shares that docs/deploy.md shows are those that the formula gives.
func TestDocumentedMemoryIsTheFormula(t *testing.T) {
	m, err := config.PlanMemory(1<<30, 64)
	if err != nil {
		t.Fatal(err)
	}
	if m.Heap+m.Cache <= m.Limit-m.Limit/16 { // with cgo; a release has none, and its cache is in the heap
		m.Heap += m.Cache
	}
	if !strings.Contains(document(t, "docs/deploy.md"), m.String()) {
		t.Errorf("docs/deploy.md does not have %q", m)
	}
}
