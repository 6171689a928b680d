package tutorials

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/transcript"
)

var dataDir = regexp.MustCompile(`(?m)^  data +(\S+) \(temporary`)

// TestReadme runs the commands of the tour in README.md beside the demo that its first command
// starts. The output about the tour's own channel must equal the page; the output about the demo's
// channels must have the same form. The tour leaves nothing but the build in the directory where a
// user types it.
func TestReadme(t *testing.T) {
	d := newDuty(t)
	blocks := docs.Blocks("README.md", read(t, "README.md"))
	first, drawings := docs.Of(blocks, "sh")[0], docs.Of(blocks, "")
	if !strings.HasPrefix(first, "make dev ") {
		t.Fatalf("the page begins with %s", first)
	}
	dir := t.TempDir()
	d.Env = append(d.Env, "tour="+dir, "TMPDIR="+t.TempDir())
	d.start(`make dev ARGS=""`)
	d.node.Log.Await(t, "--no-demo for silence")
	banner := d.Restore.Replace(d.node.Log.String())
	data := dataDir.FindStringSubmatch(banner)
	if data == nil || !strings.Contains(transcript.Masked(strings.ReplaceAll(banner, data[1], "DATA")), transcript.Masked(drawings[0])) {
		t.Fatalf("it begins with %s", banner)
	}
	events := docs.Of(blocks, "json")
	if len(events) != 1 {
		t.Fatalf("%d blocks of events", len(events))
	}
	write(t, dir+"/events.ndjson", events[0])
	steps := 0
	for _, text := range docs.Of(blocks, "console") {
		for _, s := range docs.Steps(text) {
			steps++
			s.Command = dataOfPage.ReplaceAllString(s.Command, data[1])
			d.tour(s)
		}
	}
	if steps != 28 {
		t.Errorf("the tour has %d commands", steps)
	}
	left, err := os.ReadDir(d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() != "bin" {
			t.Errorf("the tour leaves %s in the work tree", e.Name())
		}
	}
}

var (
	dataOfPage = regexp.MustCompile(`/tmp/tidemark-dev-[0-9]+`)
	watched    = regexp.MustCompile(`\ATIME snapshot of N channel; total: N unread in N channel(, N mention \(muted channel left out\))?.*(\nTIME .*)*\nTIME \S+: unread N, mention N(, offline N)?; total N\n`)
)

// tour runs a command of the tour.
func (d *duty) tour(s docs.Step) {
	d.t.Helper()
	command, detached := strings.CutSuffix(s.Command, " &\n")
	switch verb, _, _ := strings.Cut(strings.TrimPrefix(command, "bin/tidemark "), " --"); {
	case detached:
		d.startAt(command, "bin/tidemark gateway", d.own[0])
	case strings.HasPrefix(verb, "query watch"):
		s.Command = "timeout 5 " + s.Command
		for _, text := range []string{d.watch(s), s.Prints} {
			if !watched.MatchString(transcript.Numbered(text) + "\n") {
				d.t.Errorf("%s does not print lines such as\n%s", s.Command, text)
			}
		}
	case strings.HasPrefix(verb, "query inbox"):
		d.prints(s, transcript.SameEnds, false)
	case strings.HasPrefix(verb, "snapshot"), strings.HasPrefix(verb, "verify"):
		d.prints(s, transcript.Numbered, false)
	default:
		d.prints(s, transcript.Masked, !strings.HasPrefix(verb, "query") && !strings.HasPrefix(verb, "curl") && !strings.HasPrefix(verb, "redis-cli"))
	}
}

// watch returns the output of a watch that ends by itself.
func (d *duty) watch(s docs.Step) string {
	d.t.Helper()
	out, _ := d.run(s.Command)
	return out
}
