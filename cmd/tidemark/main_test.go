package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// childEnv makes this binary the command itself, so that a test can kill it.
const childEnv = "TIDEMARK_TEST_CHILD"

func TestMain(m *testing.M) {
	// The width of help is that of the terminal, and a person's own settings are no part of a test.
	must(os.Setenv("COLUMNS", "100"))
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "TIDEMARK_") && !strings.HasPrefix(name, "TIDEMARK_TEST_") {
			must(os.Unsetenv(name))
		}
	}
	must(os.Setenv("XDG_CONFIG_HOME", filepath.Join(os.TempDir(), "tidemark-test-without-contexts"))) // where nothing is
	environ = func() []string {                                                                       // those of tests are none of a command
		return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TIDEMARK_TEST_") })
	}
	if os.Getenv(childEnv) != "" {
		main()
		return
	}
	time.Local = time.UTC // that of the machine is no part of a test either
	testkit.LeakFree(m)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// result is what a command line came to.
type result struct {
	code        int
	out, errout string
}

// tidemark runs one command line with input, for at most a minute.
func tidemark(t *testing.T, input string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errout bytes.Buffer
	code := execute(ctx, append([]string{"tidemark"}, args...), strings.NewReader(input), &out, &errout)
	return result{code, out.String(), errout.String()}
}

// ok is tidemark for a command line that must work.
func ok(t *testing.T, input string, args ...string) string {
	t.Helper()
	r := tidemark(t, input, args...)
	if r.code != exitDone {
		t.Fatalf("tidemark %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.errout)
	}
	return r.out
}

// eventually runs a command line until it works and its output contains want.
func eventually(t *testing.T, want string, args ...string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		r := tidemark(t, "", args...)
		if r.code == exitDone && strings.Contains(r.out, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("tidemark %s never says %q: exit %d\n%s%s", strings.Join(args, " "), want, r.code, r.out, r.errout)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// stack is a running `tidemark dev` on free ports, until the test ends.
func stack(t *testing.T) *dev.Stack {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := dev.Start(ctx, dev.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

func lines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
