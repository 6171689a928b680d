package tutorials

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/transcript"
)

// duty runs the commands of the page for SREs, with a binary, a directory and ports of its own.
type duty struct {
	transcript.Shell
	t    *testing.T
	url  string
	node *transcript.Node // started last
	own  [2]string        // URLs of the two nodes on a Kafka of their own
}

func newDuty(t *testing.T) *duty {
	d := &duty{t: t, Shell: transcript.Shell{Dir: t.TempDir()}}
	if err := os.Mkdir(filepath.Join(d.Dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(transcript.Command(t), filepath.Join(d.Dir, "bin", "tidemark")); err != nil {
		t.Fatal(err)
	}
	var ports []any
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, l.Addr().String())
		defer l.Close() // held until all ports are found
	}
	d.url = fmt.Sprintf("http://%s", ports[0])
	d.Env = strings.Fields(fmt.Sprintf("TIDEMARK_ADDR=http://%[1]s TIDEMARK_BROKERS=%[2]s TIDEMARK_REDIS=redis://%[3]s", ports[:3]...))
	d.own = [2]string{fmt.Sprintf("http://%s", ports[3]), fmt.Sprintf("http://%s", ports[4])}
	d.Replace = strings.NewReplacer("127.0.0.1:8080", fmt.Sprint(ports[0]), "/tmp/tidemark-", d.Dir+"/",
		"127.0.0.1:9092", fmt.Sprint(ports[1]), "127.0.0.1:6379", fmt.Sprint(ports[2]), "127.0.0.1:8081", fmt.Sprint(ports[3]), "127.0.0.1:8082", fmt.Sprint(ports[4]), "redis-cli ", fmt.Sprintf("redis-cli -u redis://%s ", ports[2]),
		`make dev ARGS="`, fmt.Sprintf(`bin/tidemark dev --listen %s --kafka-listen %s --redis-listen %s "`, ports[:3]...))
	d.Restore = strings.NewReplacer(fmt.Sprint(ports[0]), "127.0.0.1:8080", fmt.Sprint(ports[1]), "127.0.0.1:9092", fmt.Sprint(ports[2]), "127.0.0.1:6379",
		fmt.Sprint(ports[3]), "127.0.0.1:8081", fmt.Sprint(ports[4]), "127.0.0.1:8082", d.Dir+"/", "/tmp/tidemark-")
	return d
}

// start runs the line of a block that starts everything, and waits until it is ready.
func (d *duty) start(block string) { d.t.Helper(); d.startAt(block, "make dev", d.url) }

// startAt runs the line of a block that begins with a command, and waits until its node at a URL is
// ready.
func (d *duty) startAt(block, command, url string) {
	d.t.Helper()
	at := strings.Index(block, command)
	if at < 0 {
		d.t.Fatalf("nothing is started by %s", block)
	}
	line, _, _ := strings.Cut(block[at:], "\n")
	line = strings.ReplaceAll(d.Replace.Replace(line), `"`, "")
	d.node = d.Start(d.t, line, url)
}

// kill kills the node, as the page does by the name of the process.
func (d *duty) kill() { d.node.Kill() }

// run runs a block, and returns what it prints.
func (d *duty) run(block string) (string, error) {
	d.t.Helper()
	return d.Run(d.t, block)
}

// prints is Shell.Prints; its failures show the log of the node.
func (d *duty) prints(s docs.Step, form func(string) string, once bool) {
	d.t.Helper()
	d.Prints(d.t, s, form, once, func() string { return "The node says\n" + d.node.Log.String() })
}

// TestSRE runs all commands of the page for SREs, including a kill. Each works, or fails with the
// error that the page shows.
func TestSRE(t *testing.T) {
	d := newDuty(t)
	blocks := examples(t, "docs/start/sre.md", "sh", "http://127.0.0.1:8080")
	if len(blocks) != 11 {
		t.Fatalf("the page has %d blocks: list here what the test does with each", len(blocks))
	}
	d.start(blocks[0])
	works := func(block string, wants ...string) {
		t.Helper()
		out, err := d.run(block)
		if err != nil {
			t.Fatalf("%s: %v\n%s", block, err, out)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not print %q, but\n%s", block, want, out)
			}
		}
	}
	time.Sleep(2 * time.Second) // lets the demo write some events
	works(blocks[1], "ready", "general")
	if !strings.Contains(blocks[2], "kill -9 $(pgrep -xn tidemark)") {
		t.Fatalf("nothing is killed by %s", blocks[2])
	}
	d.kill()
	d.start(blocks[2])
	if out, err := d.run(blocks[3]); err == nil || !strings.Contains(out, "message_id") {
		t.Errorf("the bad event: %v, %s", err, out)
	}
	works(blocks[4], "TM017")
	// A busy partition is cut every 10 s. Before its first cut there is nothing to copy.
	copies := "bin/tidemark snapshot create --node http://127.0.0.1:8080 && bin/tidemark snapshot verify --snapshots file:///tmp/tidemark-dev/snapshots"
	for ctx := limit(t); ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
		if _, err := d.run(copies); err == nil {
			break
		}
	}
	works(blocks[5])
	d.onItsOwn(blocks[6:], works)
}

// onItsOwn runs the page's node on a separate Kafka, and the second node, which takes over from it.
func (d *duty) onItsOwn(blocks []string, works func(block string, wants ...string)) {
	d.t.Helper()
	works(blocks[0], "created  trial.chat.messages", "7 topics of 4 partitions")
	d.startAt(blocks[1], "bin/tidemark run", d.own[0])
	first := d.node
	// A snapshot has what the node has stored, which takes up to 10 s.
	until, rest, _ := strings.Cut(blocks[2], "bin/tidemark snapshot create")
	works(until, "unread          1", `topic="trial.chat.messages"} 0`, "none failed")
	copies := "bin/tidemark snapshot create" + rest
	for ctx := limit(d.t); ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
		if out, err := d.run(copies); err == nil && strings.Contains(out, "were uploaded") {
			break
		}
	}
	works(copies, "snapshot 2-0-0")
	d.startAt(blocks[3], "bin/tidemark run", d.own[1])
	if err := first.Process.Signal(os.Interrupt); err != nil {
		d.t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		d.t.Errorf("the first node ends with %v", err)
	}
	for ctx := limit(d.t); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if out, err := d.run("curl -s " + d.own[1] + "/readyz"); err == nil && strings.Count(out, " live,") == 4 {
			break
		}
	}
	works(blocks[4], "unread          1", "partition 0 live", "partition 3 live")
}
