package transcript

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Node is a process that a command of a page started.
type Node struct {
	*exec.Cmd
	Log *testkit.Output // what it prints
}

// Start starts a command that has the test's addresses, and waits until its node is ready at a URL.
// The end of the test kills the node.
func (s *Shell) Start(t testing.TB, command, url string) *Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	n := &Node{Log: &testkit.Output{}}
	// exec replaces the shell, so Kill kills the node.
	n.Cmd = exec.CommandContext(ctx, testkit.Program(t, "bash"), "-c", "exec "+command) //nolint:gosec // a line of the page
	n.Dir, n.Stderr, n.Stdout, n.Env = s.Dir, n.Log, n.Log, append(os.Environ(), s.Env...)
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	for ; ; time.Sleep(50 * time.Millisecond) {
		if res, err := http.Get(url + "/readyz"); err == nil { //nolint:noctx // of a test
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return n
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("it is not ready: %s", n.Log)
		}
	}
}

// Kill ends the process at once, if it runs.
func (n *Node) Kill() {
	_ = n.Process.Kill() // it may have ended
	_ = n.Wait()
}
