package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a server that can be restarted at the same address after it was stopped or killed.
// Several goroutines may call its methods.
type process struct {
	name  string // as it appears in errors, and names the log file
	argv  []string
	dir   string // working directory, holds NAME.log
	addr  string // host:port that accepts connections when the server is up
	guard *guard

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has been waited for; nil before the first start
}

// errPortTaken is returned by start when the server's log says that its address is in use by
// someone else.
var errPortTaken = errors.New("address already in use")

// stopGrace is how long a server may take to end after SIGTERM. A broker hands its partitions over
// and closes its logs, which takes about a second when the machine is idle.
const stopGrace = 30 * time.Second

// start runs the server and returns when its address accepts connections. It fails with the end of
// the server's log when the server exits before that.
func (p *process) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("%s is running already", p.name)
	}
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("log of %s: %w", p.name, err)
	}
	defer log.Close()

	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	if cmd.SysProcAttr, err = ownGroup(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	done := make(chan struct{})
	p.cmd, p.done = cmd, done
	if err := p.guard.watch(cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		close(done)
		return err
	}
	go func() {
		_ = cmd.Wait() // the log has the reason; done signals the end
		_ = p.guard.forget(cmd.Process.Pid)
		close(done)
	}()
	if err := p.awaitAddr(ctx); err != nil {
		_ = signalGroup(cmd.Process.Pid, syscall.SIGKILL)
		<-done
		return err
	}
	return nil
}

// awaitAddr returns when the server accepts connections.
func (p *process) awaitAddr(ctx context.Context) error {
	for {
		conn, err := net.DialTimeout("tcp", p.addr, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.done:
			tail := p.logTail()
			if strings.Contains(tail, "Address already in use") {
				return fmt.Errorf("%s at %s: %w", p.name, p.addr, errPortTaken)
			}
			return fmt.Errorf("%s ended before it accepted connections at %s; the end of its log:\n%s", p.name, p.addr, tail)
		case <-ctx.Done():
			return fmt.Errorf("%s does not accept connections at %s: %w; the end of its log:\n%s",
				p.name, p.addr, context.Cause(ctx), p.logTail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server with SIGTERM and waits for it. After stopGrace it kills the server and
// returns an error. It does nothing if the server is not running.
func (p *process) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return nil
	}
	// A paused process receives SIGTERM only once it is resumed.
	if err := errors.Join(p.signal(syscall.SIGTERM), p.signal(resumeSignal)); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopGrace):
		_ = p.signal(syscall.SIGKILL)
		<-p.done
		return fmt.Errorf("%s did not stop within %v of SIGTERM and was killed; the end of its log:\n%s", p.name, stopGrace, p.logTail())
	}
}

// kill kills the server with SIGKILL and waits for it. It does nothing if the server is not
// running.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return nil
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// pause freezes the server with SIGSTOP: its connections stay open and nothing answers.
func (p *process) pause() error { return p.signalRunning(pauseSignal) }

// resume ends a pause.
func (p *process) resume() error { return p.signalRunning(resumeSignal) }

func (p *process) signalRunning(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return fmt.Errorf("%s is not running", p.name)
	}
	return p.signal(sig)
}

// running reports whether the process was started and has not ended. Callers hold mu.
func (p *process) running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends sig to the whole group of the process. It is not an error if the process has ended
// meanwhile.
func (p *process) signal(sig syscall.Signal) error {
	if err := signalGroup(p.cmd.Process.Pid, sig); err != nil {
		return fmt.Errorf("send %v to %s: %w", sig, p.name, err)
	}
	return nil
}

// pid returns the id of the latest process.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

func (p *process) logPath() string { return filepath.Join(p.dir, p.name+".log") }

// logTail returns the last 4 KiB of the server's output.
func (p *process) logTail() string {
	const size = 4 << 10
	f, err := os.Open(p.logPath())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > size {
		if _, err := f.Seek(-size, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	tail, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	if len(bytes.TrimSpace(tail)) == 0 {
		return "(nothing logged)"
	}
	return string(tail)
}
