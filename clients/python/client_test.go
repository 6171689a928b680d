package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// limit ends with the test, or after so long that a busy machine is done.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// python runs a module with the client on its path.
func python(t *testing.T, env []string, args ...string) string {
	t.Helper()
	ctx := limit(t)
	program, err := servers.ClientPython(ctx)
	if err != nil {
		t.Fatal(err)
	}
	src, err := filepath.Abs("src")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-B", "-m"}, args...)...) //nolint:gosec // the program is Python
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+src, "PYTHONDEVMODE=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// read makes `go test` run again when a file has changed that only Python reads.
func read(t *testing.T, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var ran = regexp.MustCompile(`(?m)^Ran (\d+) tests? in .*\n\nOK$`)

// stack starts everything in one process.
func stack(t *testing.T) *dev.Stack {
	t.Helper()
	s, err := dev.Start(limit(t), dev.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.AwaitReady(limit(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestInPython runs the client's own tests, against a node with everything in one process.
func TestInPython(t *testing.T) {
	read(t, "src/tidemark/*.py", "tests/*.py", "../conformance/*.json", "../../cache/testdata/vectors.json", "../../docs/openapi.json")
	s := stack(t)
	out := python(t, []string{"TIDEMARK_TEST_NODE=" + s.URL, "TIDEMARK_TEST_REDIS=" + s.RedisURL}, "unittest", "discover", "-s", "tests", "-t", ".")
	m := ran.FindStringSubmatch(out)
	if m == nil || len(m[1]) < 2 || strings.Contains(out, "skipped") {
		t.Fatalf("not all tests were run:\n%s", out)
	}
}

// TestTypes checks the types of the client, as those who use it see them.
func TestTypes(t *testing.T) {
	read(t, "src/tidemark/*.py")
	python(t, nil, "mypy", "--config-file", "pyproject.toml", "--cache-dir", t.TempDir())
}
