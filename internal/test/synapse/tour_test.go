package synapse

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
	"github.com/tidemark/tidemark/internal/test/transcript"
)

const page = "docs/import/synapse.md"

// TestTour types the commands of the tour in docs/import/synapse.md into one shell, with a real
// Synapse. The outputs equal the page's, apart from ids, positions and times.
func TestTour(t *testing.T) {
	testkit.NeedsServer(t)
	text, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, tour, _ := strings.Cut(string(text), "\n## A tour\n")
	tour, _, found := strings.Cut(tour, "\n## ")
	if !found {
		t.Fatalf("%s has no tour", page)
	}
	s := newShell(t)
	steps := 0
	for _, block := range docs.Of(docs.Blocks(page, tour), "console") {
		for _, step := range docs.Steps(block) {
			steps++
			s.step(step)
		}
	}
	if steps != 36 {
		t.Errorf("the tour has %d commands: look whether the test does what the words between them say", steps)
	}
}

// shell is a shell of a reader of the tour, with a PostgreSQL and `tidemark dev`.
type shell struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	log     testkit.Output
	synapse string // its address
	own     *strings.Replacer
}

func newShell(t *testing.T) *shell {
	t.Helper()
	python, err := servers.SynapsePython(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, "CREATE ROLE postgres SUPERUSER LOGIN")
	node, err := dev.Start(t.Context(), dev.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := node.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, synapse: testkit.FreeAddress(t)}
	_, port, _ := strings.Cut(s.synapse, ":")
	// The environment with Synapse is in the user's cache folder.
	s.own = strings.NewReplacer("python3 -m venv venv", "ln -s "+filepath.Dir(filepath.Dir(python))+" venv", "venv/bin/pip install matrix-synapse psycopg2-binary", "true",
		"--generate-config", "--generate-config && sed -i 's/8008/"+port+"/' homeserver.yaml", "127.0.0.1:8008", s.synapse)
	cmd := exec.Command(testkit.Program(t, "bash"))
	_, server, _ := strings.Cut(dsn, "@")
	server, _, _ = strings.Cut(server, "/")
	_, port, _ = strings.Cut(server, ":")
	cmd.Dir, cmd.Stderr = t.TempDir(), &s.log
	tidemark := command(t)
	cmd.Env = append(tidemark.Env, "PGPORT="+port, "TIDEMARK_ADDR="+node.URL, "TIDEMARK_BROKERS="+node.Broker,
		"PATH="+filepath.Dir(tidemark.Path)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in, s.out = in, bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // this ends the shell, which ends what it has started
		_ = cmd.Wait()
	})
	s.run("trap 'kill -9 $(jobs -p)' EXIT\n")
	return s
}

// ends is a line that ends the output of a command.
const ends = "@@@"

// run types a command, and returns its output.
func (s *shell) run(command string) string {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, "{ %s} 2>&1 < /dev/null\necho; echo %s\n", s.own.Replace(command), ends); err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: %v\n%s%s", command, err, &b, &s.log)
		}
		if line == ends+"\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// step types a command of the page, and what the words before it ask for.
func (s *shell) step(step docs.Step) {
	s.t.Helper()
	switch {
	case strings.HasPrefix(step.Command, "tidemark bridge"):
		// The page says to wait until Synapse has summed up its counts.
		s.await("psql -At synapse -c \"SELECT 'summed up' FROM event_push_summary WHERE user_id = '@bob:here'\"\n", "summed up")
	case strings.HasPrefix(step.Command, "psql synapse -f heal.sql"):
		s.run("kill $synapse; wait $synapse\n")
	case strings.Contains(step.Command, "--drop-slot"):
		s.run("kill -INT $bridge; wait $bridge\n")
	}
	reads := regexp.MustCompile(`^(tidemark (query|compare)|as \$bob \$url/sync)`).MatchString(step.Command)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		out := s.run(step.Command)
		if step.Prints == "" || masked(out) == masked(step.Prints) {
			break
		}
		if !reads || time.Now().After(deadline) {
			s.t.Fatalf("%sprints\n%s\nand the page shows\n%s", step.Command, out, step.Prints)
		}
	}
	switch {
	case strings.Contains(step.Command, "-m synapse.app.homeserver -c homeserver.yaml") && strings.HasSuffix(step.Command, "&\n"):
		s.run("synapse=$! start='" + strings.TrimSuffix(step.Command, " &\n") + "'\n")
		s.answers()
	case strings.HasPrefix(step.Command, "tidemark bridge"):
		s.run("bridge=$!\n")
	case strings.HasPrefix(step.Command, "psql synapse -f heal.sql"):
		s.run("$start & synapse=$!\n")
		s.answers()
	}
}

// answers waits until Synapse answers.
func (s *shell) answers() {
	s.t.Helper()
	s.await("curl -s http://"+s.synapse+"/_matrix/client/versions\n", `"versions"`)
}

// await types a command until its output has a text.
func (s *shell) await(command, text string) {
	s.t.Helper()
	testkit.Await(s.t, command, func() bool { return strings.Contains(s.run(command), text) })
}

// differing matches what differs from run to run.
var differing = regexp.MustCompile(`[!$][A-Za-z0-9_-]{30,}…?|\b[0-9A-F]+/[0-9A-F]{4,}\b|chat\.(messages|reads)/\d+/\d+`)

func masked(text string) string { return transcript.Masked(differing.ReplaceAllString(text, "ID")) }
