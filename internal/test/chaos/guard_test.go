package chaos

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// guardScript reads lists of live processes, the newest line replacing the ones before it, and
// kills them at the end of its input.
const guardScript = `pids=
while read -r line; do pids=$line; done
for p in $pids; do kill -s KILL "$p" 2>/dev/null; done`

// guard is a shell that kills the nodes when this process ends in any way: a test binary that
// panics or exceeds its time limit runs no cleanups.
type guard struct {
	mu    sync.Mutex
	stdin io.WriteCloser
	pids  []int
}

func newGuard(t *testing.T) *guard {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a ctrl-c must not take it first
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the guard of the nodes: %v", err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("guard of the nodes: %v", err)
		}
	})
	return &guard{stdin: stdin}
}

func (g *guard) watch(pid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pids = append(g.pids, pid)
	return g.tell()
}

// forget drops a process that has ended: the system may reuse its id.
func (g *guard) forget(pid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pids = slices.DeleteFunc(g.pids, func(p int) bool { return p == pid })
	return g.tell()
}

func (g *guard) tell() error {
	line := strings.Trim(fmt.Sprint(g.pids), "[]") + "\n"
	if _, err := io.WriteString(g.stdin, line); err != nil {
		return fmt.Errorf("tell the guard of the nodes: %w", err)
	}
	return nil
}
