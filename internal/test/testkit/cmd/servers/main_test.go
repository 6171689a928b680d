package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestRunGivesTheCommandServersAndReturnsItsExitCode(t *testing.T) {
	testkit.NeedsServer(t)
	message := filepath.Join(t.TempDir(), "said")
	code, err := run(nil, []string{"sh", "-c", `echo "$TIDEMARK_TEST_BROKERS $TIDEMARK_TEST_REDIS" > "$0"; exit 3`, message})
	if code != 3 || err != nil {
		t.Errorf("run: %d, %v; want the command's 3", code, err)
	}
	got, err := os.ReadFile(message)
	if err != nil {
		t.Fatal(err)
	}
	if f := strings.Fields(string(got)); len(f) != 2 || !strings.HasPrefix(f[0], "127.0.0.1:") || !strings.HasPrefix(f[1], "redis://127.0.0.1:") {
		t.Errorf("the command saw the addresses %q", got)
	}
}

func TestRunReportsACommandThatIsNotThere(t *testing.T) {
	if _, err := run(nil, []string{"no-such-command"}); err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("run: %v", err)
	}
}
