package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the real command, built once for all tests.
var binary struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.dir != "" {
		_ = os.RemoveAll(binary.dir) // a folder of temporary files
	}
	os.Exit(code)
}

// tidemark is the path of the command.
func tidemark(t *testing.T) string {
	t.Helper()
	binary.once.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "tidemark-chaos-"); binary.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", binary.dir, "../../../cmd/tidemark")
		if out, err := build.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("%s: %w\n%s", build, err, out)
		}
	})
	if binary.err != nil {
		t.Fatalf("build the command: %v", binary.err)
	}
	return filepath.Join(binary.dir, "tidemark")
}

// command returns a run of the real command, without the environment variables of the tests.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(tidemark(t), args...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TIDEMARK_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	return cmd
}

// node is a `tidemark run` that restarts with its data directory and address.
type node struct {
	t     *testing.T
	name  string
	url   string
	data  string // its data directory
	args  []string
	log   string // path
	guard *guard

	cmd  *exec.Cmd     // nil while it is down on purpose
	done chan struct{} // closed when cmd has ended
}

func (n *node) start() {
	n.t.Helper()
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		n.t.Fatal(err)
	}
	defer log.Close()
	cmd := command(n.t, n.args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		n.t.Fatalf("start %s: %v", n.name, err)
	}
	if err := n.guard.watch(cmd.Process.Pid); err != nil {
		n.t.Fatal(err)
	}
	done := make(chan struct{})
	n.cmd, n.done = cmd, done
	go func() {
		_ = cmd.Wait() // its log has the reason
		_ = n.guard.forget(cmd.Process.Pid)
		close(done)
	}()
}

// kill kills the process with SIGKILL.
func (n *node) kill() {
	n.t.Helper()
	n.running()
	n.signal(syscall.SIGKILL)
	<-n.done
	n.cmd = nil
}

func (n *node) pause()  { n.running(); n.signal(syscall.SIGSTOP) }
func (n *node) resume() { n.running(); n.signal(syscall.SIGCONT) }

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatalf("%v to %s: %v", s, n.name, err)
	}
}

// running fails the test if the process has ended on its own.
func (n *node) running() {
	n.t.Helper()
	if n.cmd == nil {
		return
	}
	select {
	case <-n.done:
		n.t.Fatalf("%s ended by itself; the end of its log:\n%s", n.name, n.tail(20))
	default:
	}
}

// stop stops the process, and fails unless its log says that it stopped.
func (n *node) stop() {
	n.t.Helper()
	if n.cmd == nil {
		return
	}
	n.running()
	n.signal(syscall.SIGTERM)
	select {
	case <-n.done:
	case <-time.After(time.Minute):
		n.t.Errorf("%s did not stop within a minute of SIGTERM; the end of its log:\n%s", n.name, n.tail(20))
		n.signal(syscall.SIGKILL)
		<-n.done
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		n.t.Errorf("%s stopped with exit code %d; the end of its log:\n%s", n.name, code, n.tail(20))
	}
	n.cmd = nil
}

// ready queries /readyz. It returns how many partitions are live here, and the whole answer.
func (n *node) ready(ctx context.Context) (ok bool, live int, message string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/readyz", nil)
	if err != nil {
		return false, 0, err.Error()
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return false, 0, err.Error()
	}
	return res.StatusCode == http.StatusOK, strings.Count(string(body), " live"), string(body)
}

// tail returns the last lines of the node's log.
func (n *node) tail(lines int) string {
	all := n.lines()
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// warned returns the last warnings and errors in the log, except those about bad records, which the
// workload writes on purpose.
func (n *node) warned(lines int) []string {
	all := slices.DeleteFunc(n.lines(), func(line string) bool {
		return !strings.Contains(line, "level=WARN") && !strings.Contains(line, "level=ERROR") || strings.Contains(line, `msg="bad record goes`)
	})
	return all[max(0, len(all)-lines):]
}

func (n *node) lines() []string {
	log, err := os.ReadFile(n.log)
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimRight(string(log), "\n"), "\n")
}
