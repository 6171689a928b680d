package synapse

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// binary is the real command, built once for all tests.
var binary struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.dir != "" {
		_ = os.RemoveAll(binary.dir) // a folder of temporary files
	}
	os.Exit(code)
}

// command returns a run of the real command, without the environment variables of the tests.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary.once.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "tidemark-import-"); binary.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", binary.dir, "../../../cmd/tidemark")
		if out, err := build.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("%s: %w\n%s", build, err, out)
		}
	})
	if binary.err != nil {
		t.Fatalf("build the command: %v", binary.err)
	}
	cmd := exec.Command(filepath.Join(binary.dir, "tidemark"), args...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TIDEMARK_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	return cmd
}

// child is a run of the command in the background.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    bytes.Buffer
	ended  chan struct{}
	failed error
}

func begin(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: command(t, args...), ended: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.failed = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(c.kill)
	return c
}

// kill kills the process with SIGKILL, and waits for it.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
}

// interrupt ends the process as Ctrl-C does.
func (c *child) interrupt() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		c.t.Fatal(err)
	}
	if <-c.ended; c.failed != nil {
		c.t.Fatalf("%v\n%s", c.failed, &c.out)
	}
}

// running fails the test if the process has ended by itself.
func (c *child) running() {
	c.t.Helper()
	select {
	case <-c.ended:
		c.t.Fatalf("%s ended by itself: %v\n%s", c.cmd, c.failed, &c.out)
	default:
	}
}

// bed is a Synapse with its database, and a Kafka. The tests can kill all of them.
type bed struct {
	t       *testing.T
	kafka   *testkit.KafkaCluster
	pg      *testkit.PostgresServer
	synapse *testkit.SynapseServer
}

// newBed starts the servers.
func newBed(t *testing.T) *bed {
	t.Helper()
	testkit.NeedsServer(t)
	b := &bed{t: t, kafka: testkit.KafkaN(t, 1), pg: testkit.RestartablePostgres(t)}
	b.synapse = testkit.Synapse(t, b.pg.DSN)
	return b
}

// args returns the command line of a verb.
func (b *bed) args(verb string, more ...string) []string {
	return append([]string{verb, "synapse", "--source", b.pg.DSN, "--brokers", b.kafka.Brokers[0], "--topic-prefix", prefix}, more...)
}

// run runs the command and returns its output. It fails the test if the exit code differs from
// code.
func (b *bed) run(code int, args ...string) string {
	b.t.Helper()
	cmd := command(b.t, args...)
	var out, errout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errout
	_ = cmd.Run() // the exit code has the result
	if got := cmd.ProcessState.ExitCode(); got != code && code >= 0 {
		b.t.Fatalf("%s: exit code %d\n%s%s", cmd, got, &out, &errout)
	}
	return out.String() + errout.String()
}

// kills returns, by name, functions that each kill a server and start it again.
func (b *bed) kills() map[string]func() {
	return map[string]func(){
		"Synapse":      func() { b.synapse.Kill(); b.synapse.Start() },
		"the database": func() { b.pg.Restart(false) },
		"the broker":   func() { b.kafka.Kill(1); b.kafka.Start(1) },
	}
}

// node starts a node on the topics, and returns its address once it is ready.
func (b *bed) node() (url string) {
	b.t.Helper()
	addr := testkit.FreeAddress(b.t)
	url = "http://" + addr
	node := begin(b.t, "run", "--roles", "processor,query", "--brokers", b.kafka.Brokers[0], "--topic-prefix", prefix, "--data-dir", b.t.TempDir(),
		"--listen", addr, "--advertise", url, "--memory", "256MiB")
	testkit.Await(b.t, "the node is ready", func() bool {
		node.running()
		res, err := http.Get(url + "/readyz") //nolint:noctx // a test's own server
		if err != nil {
			return false
		}
		_ = res.Body.Close() // the status has the answer
		return res.StatusCode == http.StatusOK
	})
	return url
}
