package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "write the golden files of help instead of comparing with them")

// nodes are all verbs and groups of verbs, by what is typed.
func nodes(t *testing.T) map[string]*kong.Node {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Name("tidemark"), kong.DefaultEnvars("TIDEMARK"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*kong.Node{}
	var walk func(n *kong.Node, path string)
	walk = func(n *kong.Node, path string) {
		for _, child := range n.Children {
			name := strings.TrimSpace(path + " " + child.Name)
			all[name] = child
			walk(child, name)
		}
	}
	walk(parser.Model.Node, "")
	return all
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "help", strings.ReplaceAll(name, " ", "-")+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; `go test ./cmd/tidemark -run Help -update` writes it", err)
	}
	if got != string(want) {
		t.Errorf("help of %q changed; if that is meant, `go test ./cmd/tidemark -run Help -update`\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestHelpIsAsWritten(t *testing.T) {
	golden(t, "tidemark", ok(t, "", "--help"))
	for name := range nodes(t) {
		if name == "bench" {
			continue // a tool of developers, whose flags change with what is measured
		}
		t.Run(name, func(t *testing.T) { golden(t, name, ok(t, "", append(strings.Fields(name), "--help")...)) })
	}
}

var example = regexp.MustCompile(`(?m)^Example:\n\n? +\S`)

// Every verb's help has an example, and each of its command lines is one that the parser takes.
func TestHelpHasExamplesThatParse(t *testing.T) {
	for name, node := range nodes(t) {
		t.Run(name, func(t *testing.T) {
			at := example.FindStringIndex(node.Detail)
			if at == nil {
				t.Fatalf("help of %q has no example:\n%s", name, node.Detail)
			}
			found := false
			for _, line := range commandLines(node.Detail[at[0]:]) {
				found = found || strings.HasPrefix(line, "tidemark "+name)
				parser, err := kong.New(&cli{}, kong.Name("tidemark"), kong.DefaultEnvars("TIDEMARK"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := parser.Parse(strings.Fields(strings.ReplaceAll(line, "/etc/tidemark.yml", os.DevNull))[1:]); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			if !found {
				t.Errorf("no example of %q is one of tidemark %s", name, name)
			}
		})
	}
}

// commandLines are the calls of tidemark in an example, continued lines joined, pipes and files
// left out.
func commandLines(text string) []string {
	var calls []string
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		for _, part := range strings.Split(line, "|") {
			part, _, _ = strings.Cut(part, " >")
			if part = strings.TrimSpace(part); strings.HasPrefix(part, "tidemark ") {
				calls = append(calls, part)
			}
		}
	}
	return calls
}

// destroys are the flags that name a victim or allow destruction (DESIGN §12).
var destroys = map[string]bool{"user": true, "repair": true, "swap": true, "replace": true, "force": true, "yes": true, "accept-gap": true, "target": true,
	"drop-slot": true}

// Flags are kebab-case, and each has its environment variable, but for those that destroy. Another
// exception is bench: it fills the brokers and the Redis that it is given, so those of production,
// which other verbs find in the environment, are not meant for it.
func TestFlagsAndTheirVariables(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for name, node := range nodes(t) {
		for _, f := range node.Flags {
			if f.Name == "help" {
				continue
			}
			prefix := "TIDEMARK_"
			if name == "bench" && (f.Name == "brokers" || f.Name == "redis") {
				prefix = "TIDEMARK_TEST_"
			}
			if destroys[f.Name] && (f.Name != "user" || name == "erase-user") {
				if len(f.Envs) > 0 {
					t.Errorf("%s --%s has %v, and must not come from the environment", name, f.Name, f.Envs)
				}
				continue
			}
			want := prefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if !kebab.MatchString(f.Name) || len(f.Envs) != 1 || f.Envs[0] != want {
				t.Errorf("%s --%s has %v, want %s", name, f.Name, f.Envs, want)
			}
			if f.Help == "" {
				t.Errorf("%s --%s has no help", name, f.Name)
			}
		}
	}
}
