package transcript

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Shell runs commands of a page in a folder.
type Shell struct {
	Dir     string
	Env     []string          // in addition to the environment of this process
	Replace *strings.Replacer // puts the test's addresses and folders into commands of a page
	Restore *strings.Replacer // puts the page's addresses and folders into outputs
}

// patience is longer than a command takes on a busy machine.
const patience = 5 * time.Minute

// Run runs a block of commands, and returns what it prints.
func (s *Shell) Run(t testing.TB, block string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, testkit.Program(t, "bash"), "-c", "set -eo pipefail\n"+s.Replace.Replace(block)) //nolint:gosec // of the page
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	cmd.WaitDelay = time.Second // a command in the background may keep the output open
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Prints runs a command of a page until form makes its output equal to the page's. With once it runs
// only once, as a command has to that changes something. A failure ends with the text of about.
func (s *Shell) Prints(t testing.TB, step docs.Step, form func(string) string, once bool, about func() string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, _ := s.Run(t, step.Command) // the page shows failures too
		if Shows(step.Prints, s.Restore.Replace(out), form) {
			return
		}
		if once || time.Now().After(deadline) {
			t.Errorf("%sprints\n%s\nand the page shows\n%s\n%s", step.Command, out, step.Prints, about())
			return
		}
	}
}
