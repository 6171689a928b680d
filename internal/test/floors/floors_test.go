package floors

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors has the floors from the lowest up, with their folders. The linter's rule of a floor has
// the floor's name.
var floors = []struct {
	name    string
	folders []string
}{
	{"contract", []string{"events", "query/ingestv1", "query/queryv1"}},
	{"ground", []string{
		"clients/js", "clients/python", "docs", "internal/alarm", "internal/audit", "internal/auth", "internal/badge", "internal/config", "internal/crossorigin", "internal/edge", "internal/guard", "internal/inflate", "internal/jsonw", "internal/kafkaadmin",
		"internal/limit", "internal/loglimit", "internal/obs", "internal/peer", "internal/private", "internal/reread", "internal/retry", "internal/sink", "internal/trace", "internal/watch",
	}},
	{"instruments", []string{"app/bench/gauge", "app/bench/swarm"}},
	{"fold", []string{"projections"}},
	{"snapshot", []string{"snapshot"}},
	{"rooms", []string{"processor/internal"}},
	{"processor", []string{"processor"}},
	{"cache", []string{"cache", "sqlsink"}},
	{"query", []string{"query"}},
	{"sockets", []string{"gateway/internal"}},
	{"gateway", []string{"gateway"}},
	{"work", []string{
		"app/admin", "app/bench", "app/cluster", "cmd/internal/conformance", "app/demo", "app/erase", "importer", "app/letters", "internal/traffic", "app/rebuild", "app/recheck", "app/travel",
	}},
	{"node", []string{"app/dev", "app/node", "app/ui"}},
	{"verbs", []string{"internal/term", "cmd/internal/verbs"}},
	{"command", []string{"cmd/tidemark"}},
}

// floorOf returns the number of the floor whose folder is the longest that has path in it.
func floorOf(path string) (floor int, ok bool) {
	longest := 0
	for i, f := range floors {
		for _, folder := range f.folders {
			if (path == folder || strings.HasPrefix(path, folder+"/")) && len(folder) > longest {
				floor, ok, longest = i, true, len(folder)
			}
		}
	}
	return floor, ok
}

// outside has modules that floors must not import. Those outside the standard library are invented
// for the test.
var outside = map[string][]string{
	"contract":  {"github.com/twmb/franz-go/pkg/kgo", "github.com/redis/go-redis/v9", "github.com/cockroachdb/pebble/v2"},
	"fold":      {"github.com/twmb/franz-go/pkg/kgo", "github.com/redis/go-redis/v9", "net/http"},
	"snapshot":  {"github.com/twmb/franz-go/pkg/kgo", "github.com/redis/go-redis/v9"},
	"rooms":     {"github.com/redis/go-redis/v9"},
	"processor": {"github.com/redis/go-redis/v9"},
	"cache":     {"github.com/cockroachdb/pebble/v2"},
	"query":     {"github.com/redis/go-redis/v9", "github.com/cockroachdb/pebble/v2"},
	"sockets":   {"github.com/cockroachdb/pebble/v2"},
	"gateway":   {"github.com/cockroachdb/pebble/v2"},
}

// The linter refuses every import of a package on a higher floor, in each product package, and of
// the test world.
func TestTheLinterRefusesWhatIsAbove(t *testing.T) {
	plants := map[string][]string{} // by package
	wants := map[string]string{}    // the rule that refuses, by package and import; "" for any
	all := list(t, "./...")
	for _, p := range all {
		if !p.product() {
			plants[p.path()] = nil
			continue
		}
		floor, ok := floorOf(p.path())
		if !ok {
			t.Errorf("%s is on no floor: give it one here and in .golangci.yml", p.path())
			continue
		}
		plant := func(path, rule string) {
			plants[p.path()] = append(plants[p.path()], path)
			wants[p.path()+" imports "+path] = rule
		}
		for _, other := range all {
			above, _ := floorOf(other.path())
			if other.product() && above > floor && visible(other.path(), p.path()) {
				plant(module+other.path(), floors[floor].name)
			}
		}
		plant(module+"internal/test/model", "")
		for _, path := range outside[floors[floor].name] {
			plant(path, floors[floor].name)
		}
	}
	refusals := lint(t, plants)
	for what, rule := range wants {
		if len(refusals[what]) == 0 || rule != "" && !slices.Contains(refusals[what], rule) {
			t.Errorf("%s: the rule %s does not refuse it (%v do)", what, rule, refusals[what])
		}
		delete(refusals, what)
	}
	if len(refusals) > 0 || len(wants) < 300 {
		t.Errorf("%d imports were planted; not planted and refused: %v", len(wants), refusals)
	}
}

// The linter accepts the current imports, so its rules fit the tree.
func TestTheLinterAcceptsTheTree(t *testing.T) {
	imports := map[string][]string{}
	for _, p := range list(t, "./...") {
		imports[p.path()] = []string{}
		for _, path := range p.Imports {
			if strings.HasPrefix(path, module) {
				imports[p.path()] = append(imports[p.path()], path)
			}
		}
	}
	for what, rules := range lint(t, imports) {
		t.Errorf("%s: refused by %v", what, rules)
	}
}

// visible reports whether Go itself would let a package import path.
func visible(path, from string) bool {
	outer, _, internal := cutLast(path, "internal/")
	return !internal || outer == "" || from == strings.TrimSuffix(outer, "/") || strings.HasPrefix(from, outer)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// lint creates a module whose packages have only these imports, and returns the linter's rules that
// refuse each import: `events imports net/http` -> its rules.
func lint(t *testing.T, imports map[string][]string) map[string][]string {
	t.Helper()
	if testing.Short() {
		t.Skip("the linter runs")
	}
	dir := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mod := "module " + strings.TrimSuffix(module, "/") + "\n\ngo 1.24\n"
	for path, pkgs := range map[string]string{"github.com/twmb/franz-go": "pkg/kgo", "github.com/redis/go-redis/v9": ".", "github.com/cockroachdb/pebble/v2": "."} {
		version := "v1.0.0"
		if tail := filepath.Base(path); len(tail) == 2 {
			version = tail + ".0.0"
		}
		mod += "\nrequire " + path + " " + version + "\nreplace " + path + " => ./outside/" + path + "\n"
		write("outside/"+path+"/go.mod", "module "+path+"\n\ngo 1.24\n")
		write("outside/"+path+"/"+pkgs+"/x.go", "package x\n")
	}
	write("go.mod", mod)
	conf, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	write(".golangci.yml", string(conf))
	for path, list := range imports {
		text := "package x\n"
		for _, i := range list {
			text += "import _ \"" + i + "\"\n"
		}
		write(path+"/x.go", text)
	}

	find := exec.Command("go", "tool", "-modfile=tools/golangci.mod", "-n", "golangci-lint")
	find.Dir = root
	var messages bytes.Buffer // go names the modules that it downloads there
	find.Stderr = &messages
	linter, err := find.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, messages.String())
	}
	cmd := exec.Command(strings.TrimSpace(string(linter)), "run", "--enable-only=depguard", "--output.json.path=stdout", "--show-stats=false", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOLANGCI_LINT_CACHE="+filepath.Join(dir, ".cache"), "GOFLAGS=-mod=mod")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output() // it fails if it refuses an import
	var report struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct{ Filename string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	refusals := map[string][]string{}
	for _, i := range report.Issues {
		// import 'net/http' is not allowed from list 'fold': the fold knows no network
		parts := strings.Split(i.Text, "'")
		if i.FromLinter != "depguard" || len(parts) < 4 {
			t.Fatalf("the linter says of %s: %s", i.Pos.Filename, i.Text)
		}
		what := filepath.Dir(i.Pos.Filename) + " imports " + parts[1]
		refusals[what] = append(refusals[what], parts[3])
	}
	return refusals
}
