package testkit

import (
	"os/exec"
	"testing"
)

// Program returns the path of the first of names that is installed. With -short it skips the test.
// Without the program it fails the test: `make test-tools` installs it.
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
