package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// Node is a running node.
type Node struct {
	Began time.Time
	cmd   *exec.Cmd
	ended chan struct{}

	mu      sync.Mutex
	moments Moments
	tail    []string // the last lines of its log
}

const tailLines = 8 // that an error shows

// Start starts a program that runs a node, with --log-format json among its arguments.
func Start(program []string) (*Node, error) {
	n := &Node{Began: time.Now(), cmd: exec.Command(program[0], program[1:]...), ended: make(chan struct{})} //nolint:gosec,noctx // this program; Kill ends it
	n.cmd.Env = environ()
	log, err := n.cmd.StderrPipe()
	if err == nil {
		err = n.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a node: %w", err)
	}
	go func() {
		defer close(n.ended)
		n.read(log)
		_ = n.cmd.Wait() // its log has the reason
	}()
	return n, nil
}

// environ returns the environment without settings of a node, so that a node has those of its flags.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TIDEMARK_") })
}

func (n *Node) read(log io.Reader) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		n.mu.Lock()
		n.moments = append(n.moments, read(lines.Bytes())...)
		if n.tail = append(n.tail, lines.Text()); len(n.tail) > tailLines {
			n.tail = slices.Delete(n.tail, 0, 1)
		}
		n.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, log) // after a line that is too long the node must not wait for a reader
}

// Moments returns the moments so far.
func (n *Node) Moments() Moments {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.moments)
}

// Await waits until done returns true for the moments so far. It fails if the node ends or ctx is
// done before.
func (n *Node) Await(ctx context.Context, what string, done func(Moments) bool) error {
	for {
		if done(n.Moments()) {
			return nil
		}
		select {
		case <-n.ended:
			return fmt.Errorf("%s: the node ended before; the end of its log: %s", what, n.lines())
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; the end of the node's log: %s", what, ctx.Err(), n.lines())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (n *Node) lines() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.tail, "\n")
}

// Kill kills the process with SIGKILL and waits for its end. A node that has ended is left alone.
func (n *Node) Kill() {
	_ = n.cmd.Process.Kill() // it fails if the process has ended
	<-n.ended
}

// Terminate asks the node to stop in order, and does not wait.
func (n *Node) Terminate() error { return n.cmd.Process.Signal(syscall.SIGTERM) }

// Wait waits for the end of a node that was asked to stop. It fails if the node does not stop in
// order, or if ctx is done before.
func (n *Node) Wait(ctx context.Context) error {
	select {
	case <-n.ended:
	case <-ctx.Done():
		return fmt.Errorf("a node stops: %w; the end of its log: %s", ctx.Err(), n.lines())
	}
	if n.cmd.ProcessState.ExitCode() != 0 {
		return fmt.Errorf("a node stops: %s; the end of its log: %s", n.cmd.ProcessState, n.lines())
	}
	return nil
}

// Resident returns the resident memory of the process in bytes, now and at its peak.
func (n *Node) Resident() (now, largest int64, err error) {
	now, largest = gauge.ResidentOf(n.cmd.Process.Pid)
	if now == 0 {
		return 0, 0, errors.New("the resident memory of a node cannot be read: it has ended, or this is not Linux; the end of its log: " + n.lines())
	}
	return now, largest, nil
}
