package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

var update = flag.Bool("update", false, "write stories.json and testdata/left_out.txt")

// halls are the folders with stories, and how the names of theirs begin.
var halls = []struct{ prefix, pattern string }{
	{"museum-", "../../../internal/test/museum/testdata/museum/*.txt"},
	{"museum-restart/", "../../../internal/test/museum/testdata/restart/*.txt"},
	{"own-", "../../../internal/test/museum/testdata/own/*.txt"},
	{"seed/", "../../../internal/test/museum/testdata/seed/*.txt"},
	{"wish/", "../../../internal/test/model/testdata/museum/*.txt"},
	{"said/", "../../../internal/test/model/testdata/*.txt"},
	{"rules/museum-", "../../../projections/testdata/museum/*.txt"},
	{"rules/", "../../../projections/testdata/*.txt"},
}

// TestCompiled: stories.json is what the golden stories come to, and left_out.txt names the others.
func TestCompiled(t *testing.T) {
	if testkit.RaceDetector {
		t.Skip("one goroutine compiles")
	}
	var stories []Story
	var left []string
	bound := map[string]string{} // steps -> name
	for _, hall := range halls {
		files, err := filepath.Glob(hall.pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no stories in %s: %v", hall.pattern, err)
		}
		for _, file := range files {
			for _, c := range read(t, hall.prefix, file) {
				reason := c.compile(t)
				steps := text(c.story.Steps)
				if reason == "" && bound[steps] != "" {
					reason = "the same as " + bound[steps]
				}
				if reason != "" {
					left = append(left, fmt.Sprintf("%s: %s", c.story.Name, reason))
					continue
				}
				bound[steps] = c.story.Name
				stories = append(stories, c.story)
			}
		}
	}
	t.Logf("%d stories, %d left out", len(stories), len(left))
	golden(t, "stories.json", format(t, stories))
	golden(t, "testdata/left_out.txt", []byte(strings.Join(left, "\n")+"\n"))
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the stories come to (%v): `go test ./cmd/internal/conformance -run Compiled -update` writes it", file, err)
	}
}

// format writes a step a line, so that a change of a story is a change of its lines.
func format(t *testing.T, stories []Story) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("{\"stories\": [\n")
	for i := range stories {
		steps := stories[i].Steps
		stories[i].Steps = nil
		head := line(t, &stories[i])
		stories[i].Steps = steps
		b.WriteString(strings.Replace(head, `"steps":null}`, `"steps":[`, 1))
		for j := range steps {
			b.WriteString("\n" + line(t, &steps[j]))
			if j < len(steps)-1 {
				b.WriteByte(',')
			}
		}
		b.WriteString("]}")
		if i < len(stories)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

func line(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// compiling is a story on its way.
type compiling struct {
	story    Story
	data     *datadriven.TestData
	settings projections.Settings
	items    []item
	end      int64 // the last time in it
	until    bool  // a level ends at a time
}

// item is a line: records, or a question.
type item struct {
	line    string
	records []script.Record
	words   []string
}

var issue = regexp.MustCompile(`^([a-z-]+)-(\d+)$`)

// read returns the stories of a file.
func read(t *testing.T, prefix, file string) (list []*compiling) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	base := strings.TrimSuffix(filepath.Base(file), ".txt")
	source := Source{File: filepath.ToSlash(filepath.Clean(filepath.Join("cmd/internal/conformance", file)))}
	if m := issue.FindStringSubmatch(base); m != nil && prefix == "wish/" {
		source.Product, source.Issue = m[1], m[2]
	}
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		_, at, _ := strings.Cut(strings.TrimPrefix(d.Pos, file), ":")
		n, err := strconv.Atoi(strings.SplitN(at, ":", 2)[0])
		if err != nil {
			t.Fatalf("where is %q?", d.Pos)
		}
		data := *d
		data.CmdArgs = slices.Clone(d.CmdArgs)
		list = append(list, &compiling{data: &data, story: Story{Title: title(lines, n-1), Source: source}})
		return d.Expected
	})
	for i, c := range list {
		c.story.Name = prefix + strings.TrimPrefix(base, "0")
		if len(list) > 1 {
			c.story.Name += fmt.Sprintf(".%d", i+1)
		}
	}
	return list
}

// title is the comment above a line, else the one at the top of the file.
func title(lines []string, at int) string {
	var words []string
	for i := min(at, len(lines)) - 1; i >= 0 && (strings.HasPrefix(lines[i], "# ") || len(words) == 0 && lines[i] == ""); i-- {
		words = append([]string{strings.TrimPrefix(lines[i], "# ")}, words...)
	}
	for i := 0; len(strings.TrimSpace(strings.Join(words, ""))) == 0 && i < len(lines) && strings.HasPrefix(lines[i], "# "); i++ {
		words = nil
		for ; strings.HasPrefix(lines[i], "# "); i++ {
			words = append(words, strings.TrimPrefix(lines[i], "# "))
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// compile makes the steps of the story; reason says why it has none.
func (c *compiling) compile(t *testing.T) (reason string) {
	t.Helper()
	d := c.data
	if d.Cmd != "story" {
		t.Fatalf("%s: no such command: %s", c.story.Name, d.Cmd)
	}
	if d.HasArg("now") {
		return "it marks all as read, at a time that only the service knows"
	}
	d.CmdArgs = slices.DeleteFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == "alone" })
	if len(d.CmdArgs) > 0 {
		return "it is of a node with other settings: " + d.CmdArgs[0].String()
	}
	c.settings = script.Settings(t, d)
	if reason := c.parse(t); reason != "" {
		return reason
	}
	return c.answer(t)
}

// fences are the questions for which a site writes events of somebody else, each a second.
var fences = map[string]string{"told": "wait 2s", "shown": "wait 6s"}

// parse reads the lines.
func (c *compiling) parse(t *testing.T) (reason string) {
	t.Helper()
	var p script.Parser
	c.end = script.Start
	for _, s := range strings.Split(c.data.Input, "\n") {
		s = strings.TrimSpace(s)
		asked, isQuestion := strings.CutPrefix(s, "?")
		switch {
		case isQuestion:
			words := strings.Fields(asked)
			c.items = append(c.items, item{line: s, words: words})
			if _, err := p.Parse(fences[words[0]]); err != nil {
				t.Fatal(err)
			}
			continue
		case slices.Contains([]string{"", "restart", "crash", "rebuild", "repair"}, s):
			continue // nothing that a service sees
		case strings.HasPrefix(s, "mark all read"):
			return "it marks all as read, at a time that only the service knows"
		}
		it := item{line: s}
		for _, event := range repeated(s) {
			records, err := p.Parse(event)
			if err != nil {
				t.Fatalf("%s: %v", c.story.Name, err)
			}
			it.records = append(it.records, records...)
		}
		for i := range it.records {
			r := &it.records[i]
			c.end = max(c.end, r.Timestamp)
			if r.Read != nil {
				c.until = c.until || r.Read.Until != 0
			}
		}
		if len(it.records) > 0 {
			c.items = append(c.items, it)
		}
	}
	c.story.SpanMS = c.end - script.Start
	return ""
}

// repeated repeats a line that says so.
func repeated(line string) (out []string) {
	count, event, ok := strings.Cut(line, " times ")
	n, err := strconv.Atoi(count)
	if !ok || err != nil {
		return []string{line}
	}
	for i := range n {
		out = append(out, strings.ReplaceAll(event, "%", strconv.Itoa(i+1)))
	}
	return out
}

// answer tells the story to two models: as it is, and as it is if all of it is published today, in
// a partition in which others have done something today. Only a story whose answers are the same
// can be told to a service with its times moved.
func (c *compiling) answer(t *testing.T) (reason string) {
	t.Helper()
	plain, today := newWorld(c.settings), newWorld(c.settings)
	later := c.end + time.Hour.Milliseconds() // that it takes to tell it, and others
	today.beside(later)
	expected := strings.Split(strings.TrimSuffix(c.data.Expected, "\n"), "\n")
	asked := 0
	for _, it := range c.items {
		if it.words == nil {
			for i := range it.records {
				r := it.records[i]
				plain.add(r)
				r.Timestamp = later
				today.add(r)
			}
			c.story.Steps = append(c.story.Steps, Step{Line: it.line, Events: runs(eventsOf(t, it.records))})
			continue
		}
		q := parseQuestion(it.words)
		if q == nil {
			continue // of what is no part of the API
		}
		today.now = plain.now
		ask, texts := plain.ask(q, c.until)
		n := slices.IndexFunc(expected, func(line string) bool { return q.is(line, texts) })
		if n < 0 {
			return fmt.Sprintf("to %q the model says %q, and the story %q", it.line, texts, expected)
		}
		answer := expected[n]
		expected = expected[n+1:]
		if other, _ := today.ask(q, c.until); line(t, other) != line(t, ask) {
			return fmt.Sprintf("its times cannot be moved: to %q the answer depends on the day", it.line)
		}
		c.story.Steps = append(c.story.Steps, Step{Line: it.line, Ask: ask, Answer: answer})
		asked++
	}
	if asked == 0 {
		return "it asks for nothing that the API answers"
	}
	return ""
}

// world is a model that is told a story.
type world struct {
	*model.Model
	log script.Log
	now int64 // of the last record
}

func newWorld(s projections.Settings) *world { return &world{Model: model.New(s), now: script.Start} }

func (w *world) add(r script.Record) {
	w.now = r.Timestamp
	r = w.log.Add(r)
	r.AddTo(w.Model)
}

// beside lets somebody else do something at a time, in each topic.
func (w *world) beside(at int64) {
	channel, user, message := []byte("~beside"), []byte("~somebody"), []byte("~m")
	w.add(script.Record{Input: events.Messages, Timestamp: at, Message: &events.Message{
		Kind: events.KindMessagePosted, ChannelID: channel, OccurredAt: at, MessageID: message, SenderID: user,
	}})
	w.add(script.Record{Input: events.Reads, Timestamp: at, Read: &events.Read{
		Kind: events.KindReadUpTo, ChannelID: channel, UserID: user, OccurredAt: at, MessageID: message, Target: events.TargetMessageID,
	}})
	w.add(script.Record{Input: events.Deliveries, Timestamp: at, Delivery: &events.Delivery{
		Kind: events.KindDelivered, ChannelID: channel, UserID: user, OccurredAt: at, MessageID: message,
	}})
}
