package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childEnv makes this test binary start a Redis, print its process id, and wait to be killed.
const childEnv = "TIDEMARK_SERVERS_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	r, err := StartRedis(context.Background())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(r.proc.pid(), r.proc.dir)
	select {}
}

// eventually fails the test when cond does not come true within 20 s.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// gone reports whether a process has ended. In a container whose first process waits for nobody, an
// orphan stays in the process table as a zombie.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func removed(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// A test binary that is killed, as go test does on a timeout, has no chance to end its servers.
func TestServersEndWithAKilledOwner(t *testing.T) {
	if testing.Short() {
		t.Skip("starts redis-server")
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	if _, err := fmt.Sscan(line, &pid, &dir); err != nil {
		t.Fatalf("the child says %q: %v", line, err)
	}
	if gone(pid) || removed(dir) {
		t.Fatalf("redis-server %d in %s is not there", pid, dir)
	}
	// Frozen servers must end as well.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()                                             // killed
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // in case the guard fails
	eventually(t, "redis-server ended", func() bool { return gone(pid) })
	eventually(t, "its directory removed", func() bool { return removed(dir) })
}

func TestGuardKillsWhatItWatchesAndNothingElse(t *testing.T) {
	dir := t.TempDir() + "/data"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(dir)
	if err != nil {
		t.Fatal(err)
	}
	sleep := func() *exec.Cmd {
		cmd := exec.Command("sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd
	}
	watched, forgotten := sleep(), sleep()
	for _, err := range []error{
		g.watch(watched.Process.Pid), g.watch(forgotten.Process.Pid), g.forget(forgotten.Process.Pid), g.release(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- watched.Wait() }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("the watched process: %v; want it killed", err)
		}
	case <-time.After(2 * time.Minute):
		t.Errorf("the watched process is alive after two minutes")
	}
	if err := forgotten.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the forgotten process: %v; want it alive", err)
	}
	if !removed(dir) {
		t.Errorf("%s is still there", dir)
	}
}
