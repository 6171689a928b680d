package model_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// TestStories runs the stories of testdata, about the rules of DESIGN §4.7, and those of
// testdata/museum, each a request of a product's users. They are golden files like those of package
// projections: `go test -run Stories -rewrite` writes the answers; a person then judges the
// difference.
//
// The questions are those of package projections, and:
//
//	? mentions a               how many of the mentions name the user, and the first one; also: in
//	                           thread m1
//	? totals a                 the sums over the user's channels when the last record was written;
//	                           also: at 0:05:00, label work, always (threads are listed for good)
//	? line a                   the line, by id and by seq
//	? to mark a                the channels that MarkAllRead reads; also: label work, with threads
func TestStories(t *testing.T) {
	for _, pattern := range []string{"testdata/*.txt", "testdata/museum/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no stories in %s: %v", pattern, err)
		}
		for _, file := range files {
			name, _ := strings.CutPrefix(strings.TrimSuffix(file, ".txt"), "testdata/")
			t.Run(name, func(t *testing.T) {
				datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
					if d.Cmd != "story" {
						d.Fatalf(t, "no such command: %s", d.Cmd)
					}
					return tell(t, script.Settings(t, d), d.Input)
				})
			})
		}
	}
}

// TestWishesAreTold: every wish that docs/semantics*.md name has a story, and the documents name
// every story.
func TestWishesAreTold(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/semantics*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\*wish/([a-z0-9-]+)\*`).FindAllSubmatch(text, -1) {
			named[string(m[1])] = true
		}
	}
	files, err := filepath.Glob("testdata/museum/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d wishes: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if !named[name] {
			t.Errorf("docs/semantics*.md do not name wish/%s", name)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("docs/semantics*.md name wish/%s, which has no story", name)
	}
}

// story is a story in progress.
type story struct {
	*model.Model
	now int64 // time of the last record
}

func tell(t *testing.T, s projections.Settings, text string) string {
	st := story{Model: model.New(s)}
	var p script.Parser
	var l script.Log
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if question, asks := strings.CutPrefix(line, "?"); asks {
			out = append(out, st.answer(t, strings.Fields(question)))
			continue
		}
		records, err := p.Parse(line)
		if err != nil {
			t.Error(err)
			return err.Error()
		}
		for _, r := range records {
			r = l.Add(r)
			r.AddTo(st.Model)
			st.now = r.Timestamp
		}
	}
	return strings.Join(out, "\n")
}

// option removes a word and the one after it from words.
func option(words []string, name string) (rest []string, value string) {
	i := slices.Index(words, name)
	if i < 0 || i+1 == len(words) {
		return words, ""
	}
	return slices.Delete(slices.Clone(words), i, i+2), words[i+1]
}

func (st *story) answer(t *testing.T, words []string) string {
	words, label := option(words, "label")
	words, thread := option(words, "thread")
	words, at := option(words, "at")
	words = slices.DeleteFunc(words, func(w string) bool { return w == "in" })
	verb, user, channel := "view", "", script.DefaultChannel
	if slices.Contains([]string{"mentions", "totals", "line", "to", "explain", "threads", "receipts", "readers", "deltas"}, words[0]) {
		verb, words = words[0], words[1:]
	}
	always := slices.Contains(words, "always")
	withThreads := slices.Contains(words, "threads")
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains([]string{"always", "threads", "with", "mark"}, w) })
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "#"); ok {
			channel = name
		} else {
			user = w
		}
	}
	switch verb {
	case "totals":
		now := st.now
		if at != "" {
			var err error
			if now, err = script.ParseTime(at); err != nil {
				t.Fatal(err)
			}
		}
		totals := st.Totals(user, label, now, always)
		return script.FormatTotals(user, &totals)
	case "to":
		return user + " marks read: " + strings.Join(st.ToMarkRead(user, label, withThreads), ", ")
	case "line":
		v, _ := st.View(user, channel)
		line := v.LineKnown
		return fmt.Sprintf("%s: line under %q, seq %d", user, line.MessageID, line.Seq)
	case "threads":
		return script.FormatThreads(user, st.ThreadList(user))
	case "explain":
		x, _ := st.Explain(user, channel)
		return script.FormatExplanation(user, channel, &x)
	case "receipts": // the word names the message
		v, ok := st.Receipts(channel, user)
		if !ok {
			return fmt.Sprintf("there is no %s in #%s", user, channel)
		}
		return join(script.FormatReceipts(&v), script.FormatViewers(v.List))
	case "readers":
		list, _ := st.Readers(channel)
		return script.FormatReaders(channel, list)
	case "mentions":
		return st.mentions(user, channel, thread)
	}
	switch {
	case user == "":
		c, ok := st.Channel(channel)
		if !ok {
			return "there is no #" + channel
		}
		return script.FormatChannel(&c)
	case thread != "":
		v, _ := st.Thread(user, channel, thread)
		return script.FormatThread(&v)
	}
	v, ok := st.View(user, channel)
	if !ok {
		return fmt.Sprintf("%s: there is no #%s", user, channel)
	}
	x, _ := st.Explain(user, channel)
	return join(script.FormatView(&v), script.FormatHidden(&x))
}

func (st *story) mentions(user, channel, thread string) string {
	if thread != "" {
		v, _ := st.Thread(user, channel, thread)
		return script.FormatMentions(user+" in thread "+thread, v.Mentions, v.DirectMentions, v.FirstMention)
	}
	v, _ := st.View(user, channel)
	return script.FormatMentions(user, v.Mentions, v.DirectMentions, v.FirstMention)
}

// join joins two parts of an answer; the second may be empty.
func join(a, b string) string { return strings.TrimSpace(a + " " + b) }
