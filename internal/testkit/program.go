package testkit

import (
	"os/exec"
	"testing"
)

// Program is the path of a program that a test needs beside Go, the first of names that is there. Under -short the test
// is skipped; without the program it fails, for `make test-tools` installs it.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("needs %s, which -short leaves out", names[0])
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("there is no %s here: `make test-tools` installs it, or says what is missing", names[0])
	return ""
}
