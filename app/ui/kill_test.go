package ui_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/app/ui"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// nodeEnv is the environment variable with the configuration of a node that runs in a process of
// its own.
const nodeEnv = "TIDEMARK_UI_TEST_NODE"

// nodeConfig configures such a node.
type nodeConfig struct {
	Brokers []string
	Redis   string
	DataDir string
	Listen  string
	// Instance is the node's --instance-id; "": the-node.
	Instance string
	// Gateway makes a node without a fold; Nodes are the values of its --nodes.
	Gateway bool
	Nodes   []string
}

// runNode is the main function of such a process. The process ends when it is killed, or when the
// test that started it has ended.
func runNode(text string) int {
	fail := func(err error) int {
		fmt.Println("failed:", err)
		return 1
	}
	var c nodeConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test's side is closed, for whatever reason
		cancel()
	}()
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fail(err)
	}
	roles := config.Roles{config.RoleProcessor, config.RoleCache, config.RoleQuery, config.RoleGateway}
	if c.Gateway {
		roles = config.Roles{config.RoleQuery, config.RoleGateway}
	}
	n, err := node.New(ctx, node.Config{
		Roles: roles, Nodes: c.Nodes,
		Kafka: config.Kafka{Brokers: c.Brokers, Options: testkit.FastClientOpts()}, Redis: config.Redis{URL: c.Redis},
		Group: "tidemark", InstanceID: cmp.Or(c.Instance, "the-node"), DataDir: c.DataDir, Settings: projections.DefaultSettings(), Memory: 256 << 20,
		Advertise: "http://" + ln.Addr().String(), Listener: ln, UI: &ui.Config{}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return fail(err)
	}
	fmt.Println("listening:", ln.Addr())
	if err := n.Run(ctx); err != nil {
		return fail(err)
	}
	return 0
}

// process is a node in a process of its own.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
}

// startNode starts a node and returns its address.
func startNode(t *testing.T, c nodeConfig) (*process, string) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t, cmd}
	t.Cleanup(func() {
		p.kill()
		_ = stdin.Close() // the process is gone
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening: ")
	if err != nil || !ok {
		t.Fatalf("the node says %q (%v)", line, err)
	}
	return p, addr
}

// kill sends SIGKILL. Further calls do nothing.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()         // the error only says that it was killed
}

// TestTheNodeIsKilledUnderThePage kills the node in the middle of a conversation and starts a new
// process at the same address. The page says that it is not connected, keeps its numbers,
// reconnects by itself, and loses or double-counts nothing.
func TestTheNodeIsKilledUnderThePage(t *testing.T) {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := kafkaadmin.Create(ctx, testkit.Admin(t, brokers), events.TopicSpecs(4, 1)); err != nil {
		t.Fatal(err)
	}
	c := nodeConfig{Brokers: brokers, Redis: "redis://" + testkit.Miniredis(t).Addr(), DataDir: filepath.Join(t.TempDir(), "state"), Listen: "127.0.0.1:0"}
	p, addr := startNode(t, c)
	c.Listen = addr
	s := &site{t: t, url: "http://" + addr}
	b := open(t, s.url+everyone, 1440, 900)
	b.until("the page is there", `document.querySelectorAll('.device.online').length === 3`)
	s.publish(joined("general", "ann", "bob"), joined("random", "ann", "bob", "cleo"), posted("random", "r1", "cleo", "first words"))
	b.unread(annPhone, "random", 1)
	b.openChannel(bobLaptop, "general")
	for i := range 2 {
		b.postAs(bobLaptop, fmt.Sprintf("before the kill %d", i))
		b.until("it is on the screen", fmt.Sprintf(`document.querySelectorAll('%s .message.own').length === %d`, bobLaptop, 2*i+1))
		b.postAs(bobLaptop, "once more")
		b.unread(annPhone, "general", 2+3*i)

		p.kill()
		b.until("each device says that it is not connected", `document.querySelectorAll('.device.connecting .state').length === 3`)
		b.unread(annPhone, "general", 2+3*i) // the old numbers stay
		p, _ = startNode(t, c)
		b.until("all are back", `document.querySelectorAll('.device.online').length === 3`)
		b.unread(annPhone, "general", 2+3*i)
		s.publish(posted("general", fmt.Sprintf("after-%d", i), "bob", "after the kill"))
		b.unread(annPhone, "general", 3+3*i)
		b.until("bob sees the posts in the name of bob", fmt.Sprintf(`document.querySelectorAll('%s .message.own').length === %d`, bobLaptop, 3+3*i))
	}
	b.openChannel(annLaptop, "general")
	b.unread(annPhone, "general", 0)
	b.unread(annPhone, "random", 1)
}
