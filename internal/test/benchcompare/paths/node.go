package paths

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

// node is a binary that runs as a child process.
type node struct {
	cmd   *exec.Cmd
	log   tail
	ended chan struct{} // closed once err is set
	err   error
}

// stopTimeout is how long a node may take to stop: it promises 15 s.
const stopTimeout = 30 * time.Second

// start starts a binary. The node is killed when ctx ends.
func start(ctx context.Context, binary string, args []string) (*node, error) {
	n := &node{cmd: exec.CommandContext(ctx, binary, args...), ended: make(chan struct{})}
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		n.err = n.cmd.Wait()
		close(n.ended)
	}()
	return n, nil
}

// stop stops the node in order, or kills it if that fails. Repeating it is harmless.
func (n *node) stop() error {
	select {
	case <-n.ended:
		return n.err
	default:
	}
	err := n.cmd.Process.Signal(os.Interrupt)
	select {
	case <-n.ended:
		err = errors.Join(err, n.err)
	case <-time.After(stopTimeout):
		err = errors.Join(err, fmt.Errorf("the node did not stop within %v", stopTimeout), n.cmd.Process.Kill())
		<-n.ended
	}
	if err != nil {
		return fmt.Errorf("stop the node: %w\n%s", err, n.output())
	}
	return nil
}

func (n *node) pid() int { return n.cmd.Process.Pid }

// output returns the last lines that the node wrote.
func (n *node) output() string { return n.log.String() }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// freeAddress returns an address of this machine on which nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
