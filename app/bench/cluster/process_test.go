package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// The test runs itself as a node.
func TestMain(m *testing.M) {
	switch os.Getenv("NODE") {
	case "":
		os.Exit(m.Run())
	case "runs":
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		fmt.Fprint(os.Stderr, log) // after which the test may stop it
		<-stop
	case "fails":
		fmt.Fprintln(os.Stderr, "no disk")
		os.Exit(1)
	}
}

func start(t *testing.T, how string) *Node {
	t.Helper()
	t.Setenv("NODE", how)
	n, err := Start(os.Args[:1])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	return n
}

func TestNodeStops(t *testing.T) {
	n := start(t, "runs")
	if err := n.Await(t.Context(), "live", func(m Moments) bool { return len(m) == 6 }); err != nil {
		t.Fatal(err)
	}
	if now, largest, err := n.Resident(); err != nil || now < 1<<20 || largest < now {
		t.Errorf("%d bytes resident, %d at the peak, %v", now, largest, err)
	}
	if err := errors.Join(n.Terminate(), n.Wait(t.Context())); err != nil {
		t.Error(err)
	}
	if _, _, err := n.Resident(); err == nil {
		t.Error("a node that has ended has resident memory")
	}
}

func TestNodeFails(t *testing.T) {
	n := start(t, "fails")
	err := n.Await(t.Context(), "live", func(m Moments) bool { return len(m) > 0 })
	if err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("%v, want the end of the log", err)
	}
	if err := n.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("%v, want its exit status", err)
	}
}

func TestNodeIsKilled(t *testing.T) {
	n := start(t, "runs")
	n.Kill()
	n.Kill()
	if err := n.Wait(t.Context()); err == nil {
		t.Error("a killed node stopped in order")
	}
}
