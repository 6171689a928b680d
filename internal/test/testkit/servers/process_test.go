package servers

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// newProcess returns a process of argv in a directory of the test. It ends with the test.
func newProcess(t *testing.T, addr string, argv ...string) *process {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{name: "server", argv: argv, dir: dir, addr: addr, guard: g}
	t.Cleanup(func() {
		if err := errors.Join(p.kill(), g.release()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// freeAddr returns an address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestStartReportsTheLogOfWhatEnded(t *testing.T) {
	p := newProcess(t, freeAddr(t), "sh", "-c", "echo no such setting: colour; exit 1")
	err := p.start(context.Background())
	if err == nil || !strings.Contains(err.Error(), "no such setting: colour") {
		t.Fatalf("start: %v; want the server's own words", err)
	}
}

func TestStartTellsATakenPort(t *testing.T) {
	p := newProcess(t, freeAddr(t), "sh", "-c", "echo bind: Address already in use; exit 1")
	if err := p.start(context.Background()); !errors.Is(err, errPortTaken) {
		t.Fatalf("start: %v; want errPortTaken", err)
	}
}

func TestStartEndsWithItsContextAndLeavesNothing(t *testing.T) {
	p := newProcess(t, freeAddr(t), "sleep", "600")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := p.start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("start: %v; want the deadline", err)
	}
	if !gone(p.pid()) {
		t.Errorf("process %d is still there", p.pid())
	}
}

func TestSignalsToWhatDoesNotRun(t *testing.T) {
	p := newProcess(t, freeAddr(t), "true")
	for what, err := range map[string]error{"stop": p.stop(), "kill": p.kill()} {
		if err != nil {
			t.Errorf("%s: %v; want nothing to happen", what, err)
		}
	}
	if err := p.pause(); err == nil {
		t.Error("pausing what does not run worked")
	}
}

func TestLogTailIsBounded(t *testing.T) {
	p := newProcess(t, "", "true")
	if err := os.WriteFile(p.logPath(), []byte(strings.Repeat("x", 100_000)+"the end"), 0o644); err != nil {
		t.Fatal(err)
	}
	tail := p.logTail()
	if len(tail) > 4<<10 || !strings.HasSuffix(tail, "the end") {
		t.Errorf("the tail has %d bytes and ends in %q", len(tail), tail[max(0, len(tail)-10):])
	}
}

func TestFreePortsAreDifferentAndFree(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if port < firstPort || port > lastPort || seen[port] {
			t.Errorf("port %d is out of range or twice in %v", port, ports)
		}
		seen[port] = true
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			t.Errorf("port %d: %v", port, err)
			continue
		}
		l.Close()
	}
}
