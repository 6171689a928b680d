package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes a program that notes its run in a file, and runs a shell command.
func script(t *testing.T, dir, name, command string) string {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \""+name+" $*\" >> "+filepath.Join(dir, "runs")+"\n"+command+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestByTurns: the binaries run their benches by turns, the base first. When one fails, the table
// has what was measured before.
func TestByTurns(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	c := comparison{
		base:   script(t, dir, "base", `echo '{"name":"fold","cpu_s_per_mev":2}'`),
		head:   script(t, dir, "head", `[ $(grep -c head `+filepath.Join(dir, "runs")+`) = 1 ] || { echo no disk >&2; exit 1; }; echo '{"name":"fold","cpu_s_per_mev":1}'`),
		rounds: 3, benches: []string{"fold", "memory"}, out: &out, progress: io.Discard,
	}
	if err := c.run(t.Context()); err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("a binary failed: %v", err)
	}
	if want := "fold  cpu-s/Mev  2 to 2  1     0.500\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s", out.String())
	}
	runs, err := os.ReadFile(filepath.Join(dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("base bench --json fold memory\nhead bench --json fold memory\n", 2); string(runs) != want {
		t.Errorf("runs:\n%s", runs)
	}
}

// TestNothingMeasured: without a figure there is no table.
func TestNothingMeasured(t *testing.T) {
	t.Setenv("TIDEMARK_TEST_BROKERS", "")
	var out strings.Builder
	c := comparison{base: "b", head: "h", rounds: 1, benches: []string{"paths"}, out: &out, progress: io.Discard}
	if err := c.run(t.Context()); err == nil || !strings.Contains(err.Error(), "make bench-compare") || out.Len() > 0 {
		t.Errorf("%v and\n%s", err, out.String())
	}
}
