package eventpage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	tidemark "github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// node runs the processor and the query API in this process, on a broker of its own. It has no
// gateway, which would write deliveries of its own.
func node(t *testing.T) (url, broker string) {
	t.Helper()
	kafka := testkit.FakeKafka(t)
	broker = kafka.ListenAddrs()[0]
	if err := kafkaadmin.Create(t.Context(), testkit.Admin(t, []string{broker}), events.TopicSpecs(4, 1)); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url = "http://" + ln.Addr().String()
	n, err := tidemark.New(t.Context(), tidemark.Config{
		Roles: config.Roles{config.RoleProcessor, config.RoleQuery},
		Kafka: config.Kafka{Brokers: []string{broker}, Options: testkit.FastClientOpts()},
		Group: "tidemark", DataDir: t.TempDir(), Settings: projections.DefaultSettings(), Advertise: url, Listener: ln, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	testkit.Await(t, "the node is ready", func() bool { return n.Ready().Ready })
	return url, broker
}

// typed runs a command of the page against a node at another address.
func typed(t *testing.T, url, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(command, "http://127.0.0.1:8080", url))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, command, out)
	}
	return string(out)
}

// TestCurl runs each curl command of the page against a node, and publishes the JSON examples that
// have no command. Each event is folded and has an effect, none becomes a dead letter, and the
// counts in the end are those of the page.
func TestCurl(t *testing.T) {
	testkit.Program(t, "curl")
	url, broker := node(t)
	page, list := read(t)
	var after []string
	publish := func(command string) {
		out := typed(t, url, command)
		var res struct{ After []string }
		if err := json.Unmarshal([]byte(out), &res); err != nil || len(res.After) != 1 {
			t.Fatalf("%v: %s: %s", err, command, out)
		}
		after = append(after, res.After...)
	}
	question := ""
	for i := range list {
		sec := &list[i]
		var commands []string
		for _, b := range sec.blocks {
			if b.language == "sh" && strings.HasPrefix(b.text, "curl ") {
				commands = append(commands, b.text)
			}
		}
		switch {
		case kindOf(sec) != nil:
			publish(commands[0])
			for _, example := range sec.events()[1:] {
				code, err := calls(sec.topic, example)
				if err != nil {
					t.Fatal(err)
				}
				publish(sections("# x\n" + code)[0].blocks[0].text)
			}
		case sec.title == "A producer": // the join of that section is an example, too
			publish(commands[0])
		case len(commands) == 1:
			question = commands[0]
		}
	}
	if len(after) < 33 {
		t.Errorf("only %d events were written", len(after))
	}
	tokens, err := json.Marshal(newest(after))
	if err != nil {
		t.Fatal(err)
	}
	got := typed(t, url, strings.Replace(question, "}'", `, "after": `+string(tokens)+"}'", 1))
	answer, _, _ := strings.Cut(got, `,"as_of"`) // positions depend on partitions
	answer = strings.ReplaceAll(now.ReplaceAllString(answer, `"at":"2026-01-05T09:00:03Z"`), `,"`, `, "`)
	shown := "```answer\n" + answer + "\n```\n"
	if *update {
		from := strings.Index(page, "```answer\n")
		to := from + 10 + strings.Index(page[from+10:], "```\n") + 4
		if err := os.WriteFile(path, []byte(page[:from]+shown+page[to:]), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !strings.Contains(page, shown) {
		t.Errorf("the page does not have the answer that its examples lead to:\n%s", shown)
	}
	// This queries all partitions, so everything is folded when the outcomes are counted.
	typed(t, url, "curl -sf http://127.0.0.1:8080/tidemark.query.v1.QueryService/GetInbox -H 'Content-Type: application/json' "+
		`-d '{"user_id": "ann", "after": `+string(tokens)+"}'")
	outcomes(t, url)
	if n := letters(t, broker); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

var now = regexp.MustCompile(`"at":"[^"]*"`)

// newest returns the newest token of each partition.
func newest(after []string) (list []string) {
	last := map[string]string{}
	for _, a := range after {
		at := a[:strings.LastIndexByte(a, '/')]
		last[at] = a // the tokens of a partition come in order
	}
	for _, a := range last {
		list = append(list, a)
	}
	return list
}

// letters counts dead letters.
func letters(t *testing.T, broker string) (n int64) {
	t.Helper()
	ends, err := testkit.Admin(t, []string{broker}).ListEndOffsets(t.Context(), events.TopicDeadLetters)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ends[events.TopicDeadLetters] {
		n += p.Offset
	}
	return n
}

// outcomes checks that each event had an effect. Only the event that is written twice is a
// duplicate.
func outcomes(t *testing.T, url string) {
	t.Helper()
	res, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	var applied float64
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "tidemark_processor_events_total{") {
			continue
		}
		var n float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &n); err != nil {
			t.Fatal(err)
		}
		switch {
		case n == 0:
		case strings.Contains(line, `outcome="applied"`):
			applied += n
		case strings.Contains(line, `kind="members_joined"`) && strings.Contains(line, `outcome="duplicate"`) && n == 1:
		case strings.Contains(line, `kind="read_up_to"`) && strings.Contains(line, `outcome="duplicate"`) && n == 1:
			// reads up to a time of the past
		default:
			t.Errorf("an example does nothing: %s", line)
		}
	}
	if applied < 31 {
		t.Errorf("only %v events did something", applied)
	}
}
