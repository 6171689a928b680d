package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/transcript"
)

func TestMain(m *testing.M) { transcript.Main(m) }

// site has a Kafka and a Redis, and runs the commands of a page there.
type site struct {
	transcript.Shell
	t                  *testing.T
	kafka, redis, node string // addresses
	steps              map[string][]docs.Step
	running            *transcript.Node
}

// newSite starts the servers of a site. more has further addresses of a page, each followed by the
// test's own.
func newSite(t *testing.T, page string, more ...string) *site {
	t.Helper()
	s := &site{t: t, kafka: testkit.FakeKafka(t).ListenAddrs()[0], redis: testkit.Miniredis(t).Addr(), node: testkit.FreeAddress(t), steps: commands(t, page)}
	s.Dir = t.TempDir()
	if err := os.Symlink(transcript.Command(t), filepath.Join(s.Dir, "tidemark")); err != nil {
		t.Fatal(err)
	}
	s.Env = []string{
		"PATH=" + s.Dir + ":" + os.Getenv("PATH"), "HOME=" + s.Dir, "XDG_CONFIG_HOME=" + s.Dir + "/.config", "TIDEMARK_ADDR=http://" + s.node, "TIDEMARK_BROKERS=" + s.kafka,
		"TIDEMARK_REDIS=redis://" + s.redis, "TIDEMARK_PARTITIONS=4", "TIDEMARK_REPLICATION_FACTOR=1", "TZ=UTC",
	}
	s.Replace = strings.NewReplacer(append(more, "127.0.0.1:8080", s.node, "10.0.0.5:8080", s.node, "127.0.0.1:8082", testkit.FreeAddress(t), "kafka-1:9092,kafka-2:9092", s.kafka, "kafka-1:9092", s.kafka, "redis://redis:6379", "redis://"+s.redis,
		"--partitions 64 --replication-factor 3", "--partitions 4 --replication-factor 1", "s3://backups/tidemark", "file://"+s.Dir+"/backups", "/var/lib/tidemark", s.Dir+"/data")...)
	s.Restore = strings.NewReplacer(s.node, "127.0.0.1:8080", s.kafka, "kafka-1:9092", "file://"+s.Dir+"/backups", "s3://backups/tidemark",
		s.Dir+"/data", "/var/lib/tidemark", s.Dir+"/", "/home/ann/")
	return s
}

var heading = regexp.MustCompile(`(?m)^#{2,4} (?:tidemark )?(.*)$`)

// commands returns the commands of a page by the heading above them, without those that no test
// runs.
func commands(t *testing.T, page string) map[string][]docs.Step {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../..", page)) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	steps := map[string][]docs.Step{}
	for _, b := range docs.Blocks(page, string(b)) {
		if why, err := docs.Reason(b); err != nil {
			t.Fatal(err)
		} else if why != "" {
			continue
		}
		above := heading.FindAllStringSubmatch(strings.Join(lines[:b.Line-1], ""), -1)
		name := ""
		if len(above) > 0 {
			name = above[len(above)-1][1]
		}
		switch b.Language {
		case "console":
			steps[name] = append(steps[name], docs.Steps(b.Text)...)
		case "sh":
			for line := range strings.Lines(strings.ReplaceAll(b.Text, "\\\n", "")) {
				steps[name] = append(steps[name], docs.Step{Command: line})
			}
		}
	}
	return steps
}

// next returns the next command under a heading.
func (s *site) next(name string) docs.Step {
	s.t.Helper()
	if len(s.steps[name]) == 0 {
		s.t.Fatalf("there is no further command under %q", name)
	}
	step := s.steps[name][0]
	s.steps[name] = s.steps[name][1:]
	return step
}

// allRun fails if commands are left.
func (s *site) allRun() {
	s.t.Helper()
	for name, steps := range s.steps {
		if len(steps) > 0 {
			s.t.Errorf("under %q these commands were not run: %q", name, steps)
		}
	}
}

// runs runs the next n commands under a heading. form makes their outputs equal to the page's. A
// command without an output on the page has to succeed.
func (s *site) runs(name string, n int, form func(string) string) {
	s.t.Helper()
	for range n {
		s.step(s.next(name), form)
	}
}

func (s *site) step(step docs.Step, form func(string) string) {
	s.t.Helper()
	if step.Prints == "" {
		s.does(step.Command)
		return
	}
	// The node may still fold, or have to cut before there is something new to copy.
	if strings.HasPrefix(step.Command, "tidemark query ") || strings.HasPrefix(step.Command, "tidemark snapshot create --node ") {
		s.Prints(s.t, step, form, false, func() string { return "" })
		return
	}
	out, _ := s.Run(s.t, step.Command) // the page shows failures too
	if !transcript.Shows(step.Prints, s.Restore.Replace(out), form) {
		s.t.Errorf("%sprints\n%s\nand the page shows\n%s\n", step.Command, out, step.Prints)
	}
}

// does runs a command that succeeds, and returns what it prints.
func (s *site) does(command string) string {
	s.t.Helper()
	out, err := s.Run(s.t, command)
	if err != nil {
		s.t.Errorf("%s: %v\n%s", command, err, out)
	}
	return out
}

// emit writes events, and waits until the node has folded them.
func (s *site) emit(events ...string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, "more.ndjson"), []byte(strings.Join(events, "\n")), 0o600); err != nil {
		s.t.Fatal(err)
	}
	places := strings.Fields(s.does("tidemark emit < more.ndjson"))
	s.does("tidemark query channel general --after " + strings.Join(places, ","))
}

// start runs a node with the page's data directory and snapshots, until it is stopped.
func (s *site) start(flags ...string) {
	s.t.Helper()
	line := fmt.Sprintf("tidemark run --data-dir %s/data --snapshots file://%s/backups --snapshot-every 0 --memory 256MiB --listen %s ", s.Dir, s.Dir, s.node)
	s.running = s.Start(s.t, line+strings.Join(flags, " "), "http://"+s.node)
}

// stop ends the node in an orderly way.
func (s *site) stop() {
	s.t.Helper()
	if err := s.running.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
	if err := s.running.Wait(); err != nil {
		s.t.Fatalf("the node ends with %v: %s", err, s.running.Log)
	}
}

// admin returns a client of the Kafka, for changes that no command of a page makes.
func (s *site) admin() *kadm.Client {
	return kadm.NewClient(testkit.Client(s.t, []string{s.kafka}))
}
