package bench

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// meter measures the CPU time of this process and of the servers that listen on some addresses.
type meter struct {
	pids  []int
	self  time.Duration
	other []time.Duration
	began time.Time
}

// newMeter finds the servers' processes on this machine.
func newMeter(addrs ...string) (*meter, error) {
	m := &meter{}
	for _, a := range addrs {
		pid, err := listener(a)
		if err != nil {
			return nil, err
		}
		m.pids = append(m.pids, pid)
	}
	return m, nil
}

func (m *meter) start() {
	m.began, m.self, m.other = time.Now(), selfCPU(), m.other[:0]
	for _, pid := range m.pids {
		m.other = append(m.other, processCPU(pid))
	}
}

// stop is the result of n events since start.
func (m *meter) stop(name string, n int) Result {
	wall := time.Since(m.began)
	self := selfCPU() - m.self
	var servers time.Duration
	for i, pid := range m.pids {
		servers += processCPU(pid) - m.other[i]
	}
	perMev := func(d time.Duration) float64 { return d.Seconds() / float64(n) * 1e6 }
	return Result{
		Name: name, CPU: perMev(self + servers), Rate: float64(n) / wall.Seconds(),
		Note: fmt.Sprintf("own %.2f, servers %.2f", perMev(self), perMev(servers)),
	}
}

// processCPU is the user and system time of a process, 0 if it is gone.
func processCPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The command's name may hold anything, but ends with the last parenthesis.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	const utime, stime, hz = 11, 12, 100
	if len(f) <= stime {
		return 0
	}
	var ticks int64
	for _, i := range []int{utime, stime} {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / hz
}

// listener is the process that listens on a TCP address of this machine.
func listener(addr string) (int, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, fmt.Errorf("address %q: %w", addr, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0, fmt.Errorf("address %q: %w", addr, err)
	}
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(b), "\n") {
			f := strings.Fields(line)
			const local, state, inode, listening = 1, 3, 9, "0A"
			if len(f) > inode && f[state] == listening && strings.HasSuffix(f[local], fmt.Sprintf(":%04X", n)) {
				inodes["socket:["+f[inode]+"]"] = true
			}
		}
	}
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && inodes[target] {
			return strconv.Atoi(strings.Split(file, "/")[2])
		}
	}
	return 0, errors.New("no process of this machine listens on " + addr + ": its CPU time cannot be measured")
}
