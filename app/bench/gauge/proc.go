package gauge

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times under /proc. It is the same on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// MachineCPU returns the time for which the processors were busy, all together; 0 where there is no
// /proc/stat.
func MachineCPU() time.Duration {
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

// processCPU returns the user and system time of a process, 0 if it is gone.
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

// Written returns the bytes that a running process has written to disk, as far as the kernel has
// seen them: page caches that are not written back yet included.
func Written(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, fmt.Errorf("bytes written by process %d: %w", pid, err)
	}
	return parseWritten(string(b))
}

func parseWritten(io string) (int64, error) {
	for line := range strings.Lines(io) {
		if value, ok := strings.CutPrefix(line, "write_bytes:"); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("no write_bytes in %q", io)
}

// listener returns the process that listens on a TCP address of this machine.
func listener(addr string) (int, error) {
	if runtime.GOOS != "linux" {
		return 0, fmt.Errorf("the CPU time of the server at %s cannot be measured on %s: run this bench on Linux", addr, runtime.GOOS)
	}
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
	return 0, errors.New("no process on this machine listens on " + addr + ": its CPU time cannot be measured")
}
