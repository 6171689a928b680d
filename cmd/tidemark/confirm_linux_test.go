package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// terminal is one that a test types at.
func terminal(t *testing.T) (keyboard, stdin *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if stdin, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	return keyboard, stdin
}

// What destroys, and the flags that make it do so. None of the paths is there: a verb that goes on
// fails, and does nothing.
func destroying(t *testing.T) [][]string {
	nowhere := t.TempDir() + "/nowhere"
	return [][]string{
		{"erase-user", "--user", "ann", "--redis", "redis://127.0.0.1:1"},
		{"replay", "--swap", "--brokers", "127.0.0.1:1", "--data-dir", nowhere},
		{"verify", "--repair", "--brokers", "127.0.0.1:1", "--redis", "redis://127.0.0.1:1", "--data-dir", nowhere},
		{"snapshot", "prune", "--snapshots", "file://" + nowhere},
		{"snapshot", "restore", "--replace", "--snapshots", "file://" + nowhere, "--data-dir", nowhere},
	}
}

// What destroys refuses without a terminal to ask at, and goes on after yes alone.
func TestWhatDestroysAsksFirst(t *testing.T) {
	for _, args := range destroying(t) {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			if r := tidemark(t, "yes\n", args...); r.code != exitUsage || !strings.Contains(r.errout, "there is no terminal for a confirmation, so it needs --yes") {
				t.Errorf("without a terminal: %+v", r)
			}
			for answer, goesOn := range map[string]bool{"yes\n": true, "y\n": false, "\n": false, "\x04": false} {
				keyboard, stdin := terminal(t)
				if _, err := keyboard.WriteString(answer); err != nil {
					t.Fatal(err)
				}
				var out, errout testkit.Output
				code := execute(t.Context(), append([]string{"tidemark"}, args...), stdin, &out, &errout)
				message := errout.String()
				if refused := strings.Contains(message, "nothing was done"); !strings.Contains(message, "Type yes to go on: ") || refused == goesOn || code == exitUsage {
					t.Errorf("answer %q: exit %d, %s", answer, code, message)
				}
			}
			if r := tidemark(t, "", append(args, "--yes")...); r.code == exitUsage || strings.Contains(r.errout, "Type yes") {
				t.Errorf("with --yes: %+v", r)
			}
		})
	}
}

// The first interrupt ends a question, though nobody answers it.
func TestAQuestionCanBeInterrupted(t *testing.T) {
	_, stdin := terminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	var errout testkit.Output
	code := make(chan int)
	go func() {
		code <- execute(ctx, append([]string{"tidemark"}, destroying(t)[0]...), stdin, &bytes.Buffer{}, &errout)
	}()
	errout.Await(t, "Type yes to go on: ")
	cancel()
	if got := <-code; got != exitFailed || !strings.Contains(errout.String(), "interrupted") {
		t.Errorf("exit %d, %s", got, errout.String())
	}
}

// At a terminal emit says what it waits for, and the first interrupt ends it.
func TestEmitAtATerminal(t *testing.T) {
	s := stack(t)
	keyboard, stdin := terminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errout testkit.Output
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{"tidemark", "emit", "--brokers", s.Broker}, stdin, &out, &errout)
	}()
	errout.Await(t, "reading events from the terminal, one a line; Ctrl-D ends")
	if _, err := keyboard.WriteString(joinLine + "\n"); err != nil {
		t.Fatal(err)
	}
	out.Await(t, "chat.messages/")
	cancel()
	select {
	case got := <-code:
		if got != exitFailed || !strings.Contains(errout.String(), "interrupted") {
			t.Errorf("exit %d, %s", got, errout.String())
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("emit goes on after the interrupt")
	}
}
