package bench

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// meter measures the CPU time of this process and of the servers that listen on some addresses.
type meter struct {
	pids    []int
	self    time.Duration
	servers time.Duration
	machine time.Duration
	began   time.Time
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
	m.began, m.self, m.servers, m.machine = time.Now(), selfCPU(), m.serverCPU(), machineCPU()
}

func (m *meter) serverCPU() (sum time.Duration) {
	for _, pid := range m.pids {
		sum += processCPU(pid)
	}
	return sum
}

// stop is the result of n events since start. What other programs used meanwhile tells how far to trust the rate.
func (m *meter) stop(name string, n int) Result {
	wall, self, servers := time.Since(m.began), selfCPU()-m.self, m.serverCPU()-m.servers
	others := max(0, machineCPU()-m.machine-self-servers)
	perMev := func(d time.Duration) float64 { return d.Seconds() / float64(n) * 1e6 }
	return Result{
		Name: name, CPU: perMev(self + servers), Rate: float64(n) / wall.Seconds(),
		Note: fmt.Sprintf("own %.2f, servers %.2f; other programs used %.1f cores", perMev(self), perMev(servers), others.Seconds()/wall.Seconds()),
	}
}

// selfCPU is what this process has used.
func selfCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// clockTick is the unit of CPU times under /proc, the same on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// machineCPU is the time that all processors together were busy, 0 if it is not known.
func machineCPU() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	const user, idle, iowait, steal = 1, 4, 5, 8
	var ticks int64
	for i, f := range strings.Fields(line) {
		if i < user || i == idle || i == iowait || i >= steal {
			continue
		}
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}

// processCPU is the user and system time of a process, 0 if it is gone.
func processCPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The command's name may hold anything, but ends with the last parenthesis.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	const utime, stime = 11, 12
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
	return time.Duration(ticks) * clockTick
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
