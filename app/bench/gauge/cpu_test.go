package gauge

import (
	"net"
	"os"
	"os/exec"
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

// TestZeroMeter: a Meter that nobody made measures this process.
func TestZeroMeter(t *testing.T) {
	m := &Meter{}
	m.Start()
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	if r := m.Stop("", 1_000_000); r.CPU <= 0 || r.CPU > 5 {
		t.Errorf("%v CPU seconds for 50 ms of work", r.CPU)
	}
}

// TestMeterOfAProcess: a Meter of another process counts that one as its own, and not this one.
func TestMeterOfAProcess(t *testing.T) {
	for _, c := range []struct {
		command string
		busy    bool
	}{{"while :; do :; done", true}, {"exec sleep 60", false}} {
		other := exec.Command("sh", "-c", c.command)
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		m, err := NewMeterOf(other.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // until sh is sleep
		m.Start()
		for begun := SelfCPU(); SelfCPU()-begun < 100*time.Millisecond; {
			continue
		}
		for until := time.Now().Add(5 * time.Second); c.busy && m.own() == m.self && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		r := m.Stop(c.command, 1_000_000)
		if err := other.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := other.Wait(); err == nil {
			t.Errorf("%s ended by itself", c.command)
		}
		if (r.CPU > 0) != c.busy {
			t.Errorf("%s: %+v", c.command, r)
		}
	}
}

// TestParseWritten takes write_bytes from /proc/PID/io, not the bytes of system calls.
func TestParseWritten(t *testing.T) {
	const io = "rchar: 11\nwchar: 12\nsyscr: 13\nsyscw: 14\nread_bytes: 15\nwrite_bytes: 4096\ncancelled_write_bytes: 17\n"
	if n, err := parseWritten(io); err != nil || n != 4096 {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := parseWritten("wchar: 12\n"); err == nil {
		t.Error("no error without write_bytes")
	}
	if _, err := Written(os.Getpid()); err != nil {
		t.Error(err)
	}
}
