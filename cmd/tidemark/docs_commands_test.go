package main

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/tidemark/tidemark/internal/test/docs"
)

// TestCommandsOfTheDocuments: the shell understands each block of commands in the documents, and
// the command understands each command line in them, with its flags and their values.
func TestCommandsOfTheDocuments(t *testing.T) {
	all, err := docs.All(root)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	files := namedFiles(t)
	for _, b := range all {
		if b.Language != "sh" && b.Language != "console" {
			continue
		}
		for _, args := range callsIn(t, b) {
			lines++
			for i, a := range args {
				args[i] = cmp.Or(files[a], a)
			}
			if err := understood(t, args); err != nil {
				t.Errorf("%s:%d: tidemark %s: %v", b.Page, b.Line, strings.Join(args, " "), err)
			}
		}
	}
	if lines < 120 {
		t.Errorf("only %d command lines were found", lines)
	}
}

// namedFiles returns a file for each that a command line of the documents reads while it is parsed.
// The settings of /etc/tidemark.yml are those that docs/reference.md shows.
func namedFiles(t *testing.T) map[string]string {
	t.Helper()
	write := func(name, text string) string {
		name = filepath.Join(t.TempDir(), name)
		must(os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	return map[string]string{"tour/ann.token": write("token", "a.b.c"), "/etc/tidemark.yml": write("tidemark.yml", settingsOf(t, "docs/reference.md")), "/tmp/tidemark-node.yml": os.DevNull}
}

// settingsOf returns the file of settings that a page shows.
func settingsOf(t *testing.T, page string) string {
	t.Helper()
	blocks := docs.Of(docs.Blocks(page, document(t, page)), "yaml")
	if len(blocks) != 1 {
		t.Fatalf("%s has %d blocks in YAML", page, len(blocks))
	}
	return blocks[0]
}

// callsIn returns the arguments of each call of tidemark in a block. Variables stay as they
// are written, and the output of another command is "x".
func callsIn(t *testing.T, b docs.Block) (all [][]string) {
	t.Helper()
	script, err := syntax.NewParser().Parse(strings.NewReader(b.Commands()), b.Page)
	if err != nil {
		t.Errorf("%s:%d: %v", b.Page, b.Line, err)
		return nil
	}
	values := &expand.Config{
		Env:      expand.FuncEnviron(func(name string) string { return "$" + name }),
		CmdSubst: func(w io.Writer, _ *syntax.CmdSubst) error { _, err := w.Write([]byte("x")); return err },
	}
	syntax.Walk(script, func(n syntax.Node) bool {
		call, is := n.(*syntax.CallExpr)
		if !is || len(call.Args) == 0 {
			return true
		}
		if name := call.Args[0].Lit(); name != "tidemark" && name != "bin/tidemark" {
			return true
		}
		args, err := expand.Fields(values, call.Args[1:]...)
		if err != nil {
			t.Errorf("%s:%d: %v", b.Page, b.Line, err)
		}
		all = append(all, slices.DeleteFunc(args, func(a string) bool { return a == "…" })) // more flags
		return true
	})
	return all
}

// understood is the error of the command's parser, which also checks the flags of a verb.
func understood(t *testing.T, args []string) error {
	t.Helper()
	var out bytes.Buffer
	parser, err := kong.New(&cli{}, kong.Name("tidemark"), kong.DefaultEnvars("TIDEMARK"), kong.Writers(&out, &out), kong.Exit(func(int) {}), kong.Vars{"version": "v0"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return err
}
