package servers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// guardScript reads the list of live process groups, the newest line replacing the ones before it.
// At the end of its input it kills them and removes the directory: the write end of its pipe is
// closed by release, or by the kernel when the owning process ends in whatever way.
const guardScript = `pids=
while read -r line; do pids=$line; done
for p in $pids; do kill -s KILL -- "-$p" 2>/dev/null; done
rm -rf -- "$0"`

// guard is a shell that outlives this process by just long enough to kill the servers it started
// and to remove their directory. A test binary has no hook at its exit (os.Exit, a panic and
// SIGKILL run no deferred calls), and Pdeathsig, the other way, follows the forking thread instead
// of the process and leaves the directory behind.
type guard struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	stdin io.WriteCloser
	pids  []int
}

// guardedDir makes a directory for a server, and the guard that removes it.
func guardedDir(server string) (dir string, g *guard, err error) {
	if dir, err = os.MkdirTemp("", "tidemark-"+server+"-"); err != nil {
		return "", nil, fmt.Errorf("directory of %s: %w", server, err)
	}
	if g, err = newGuard(dir); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, g, nil
}

// newGuard starts a guard over dir, which it will remove.
func newGuard(dir string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, dir)
	// A group of its own: a ctrl-c at the terminal goes to the whole foreground group and must not
	// take the guard before it has cleaned up.
	var err error
	if cmd.SysProcAttr, err = ownGroup(); err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to the guard of %s: %w", dir, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of %s: %w", dir, err)
	}
	return &guard{cmd: cmd, stdin: stdin}, nil
}

// watch adds a process, which must lead a group of its own.
func (g *guard) watch(pid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pids = append(g.pids, pid)
	return g.send()
}

// forget drops a process that has been waited for, so that its number, once used again, is not
// killed.
func (g *guard) forget(pid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pids = slices.DeleteFunc(g.pids, func(p int) bool { return p == pid })
	return g.send()
}

func (g *guard) send() error {
	line := make([]string, len(g.pids))
	for i, p := range g.pids {
		line[i] = strconv.Itoa(p)
	}
	if _, err := io.WriteString(g.stdin, strings.Join(line, " ")+"\n"); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	return nil
}

// release lets the guard do its work now, and returns when the directory is gone.
func (g *guard) release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.stdin.Close(); err != nil {
		return fmt.Errorf("close the pipe to the guard: %w", err)
	}
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	return nil
}
