package gauge

import (
	"net"
	"os"
	"testing"
	"time"
)

// TestMeter: a Meter counts the CPU time of this process as its own.
func TestMeter(t *testing.T) {
	m, err := NewMeter()
	if err != nil {
		t.Fatal(err)
	}
	m.Start()
	for begun := SelfCPU(); SelfCPU()-begun < 50*time.Millisecond; {
		continue
	}
	if r := m.Stop("busy", 1_000_000); r.CPU < 0.05 || r.Rate <= 0 {
		t.Fatalf("%+v after 50 ms of CPU time", r)
	}
	if MachineCPU() <= 0 {
		t.Fatal("the machine was never busy")
	}
}

// TestListener finds this process by the port that it listens on, and its CPU time grows.
func TestListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pid, err := listener(l.Addr().String())
	if err != nil || pid != os.Getpid() {
		t.Fatalf("process %d (%v), want %d", pid, err, os.Getpid())
	}
	before, until := processCPU(pid), time.Now().Add(5*time.Second)
	for processCPU(pid) == before && time.Now().Before(until) {
		continue // until one clock tick was used
	}
	if processCPU(pid) == before {
		t.Fatal("no CPU time in 5 s of work")
	}
	if _, err := listener("127.0.0.1:1"); err == nil {
		t.Fatal("somebody listens on port 1")
	}
}
