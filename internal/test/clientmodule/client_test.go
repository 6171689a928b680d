package clientmodule

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

const folder = "../../../client"

// limit returns a context that ends with the test, or after a time that is enough on a busy
// machine.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func command(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(limit(t), testkit.Program(t, "go"), args...) //nolint:gosec // the program is Go
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// read makes `go test` run again when a file changes that only the other module reads.
func read(t *testing.T, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil { //nolint:gosec // a file of the repository
				t.Fatal(err)
			}
		}
	}
}

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

// TestModule runs the tests of the module, against a node with everything in one process.
func TestModule(t *testing.T) {
	read(t, "*.go", "go.*", "cached/*.go", "../clients/conformance/*.json", "../cache/testdata/vectors.json", "../docs/openapi.json")
	s := stack(t)
	programs(t, s)
	args := []string{"test", "-count=1", "-tags=node", "-json"}
	if testkit.RaceDetector {
		args = append(args, "-race")
	}
	out := command(t, []string{"TIDEMARK_TEST_NODE=" + s.URL, "TIDEMARK_TEST_REDIS=" + s.RedisURL}, append(args, "./...")...)
	passed := map[string]bool{}
	for line := range strings.Lines(out) {
		var e struct{ Action, Test string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Action == "pass" {
			passed[e.Test] = true
		}
	}
	for _, want := range []string{"TestFrames", "TestSessions", "TestVectors", "TestCalls", "TestWatch", "TestDeviceOfANode", "TestCached"} {
		if !passed[want] {
			t.Errorf("%s did not run:\n%s", want, out)
		}
	}
}

var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

// programs runs the programs of docs/clients.md, in the order of the page.
func programs(t *testing.T, s *dev.Stack) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	var message []string
	for _, m := range program.FindAllStringSubmatch(string(page), -1) {
		file := filepath.Join(t.TempDir(), "main.go")
		own := strings.NewReplacer("http://127.0.0.1:8080", s.URL, "127.0.0.1:6379", strings.TrimPrefix(s.RedisURL, "redis://"))
		if err := os.WriteFile(file, []byte(own.Replace(m[1])), 0o600); err != nil {
			t.Fatal(err)
		}
		message = append(message, strings.ReplaceAll(strings.TrimSpace(command(t, nil, "run", file)), "\n", " "))
	}
	// The gateway may have the message before the device has it, or after.
	if len(message) != 3 || message[2] != "0" || message[0] != "1" || !strings.Contains(message[1], "1") || !strings.HasSuffix(message[1], "0") {
		t.Errorf("the programs of docs/clients.md print %q", message)
	}
}

// TestDependencies: the client has one dependency, and package cached has Redis beside it.
func TestDependencies(t *testing.T) {
	for pkg, allowed := range map[string][]string{
		".": {"github.com/coder/websocket"},
		// The list includes the imports of go-redis.
		"./cached": {"github.com/coder/websocket", "github.com/redis/go-redis/v9", "github.com/cespare/xxhash/v2", "github.com/zeebo/xxh3", "go.uber.org/atomic", "golang.org/x/sys", "github.com/klauspost/cpuid/v2"},
	} {
		for module := range strings.FieldsSeq(command(t, nil, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", pkg)) {
			known := false
			for _, a := range allowed {
				known = known || a == module
			}
			if !known {
				t.Errorf("%s imports %s", pkg, module)
			}
		}
	}
}
