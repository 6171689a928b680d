package projections_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// TestGolden runs the stories of testdata. They are the documentation of the rules: `go test -run
// Golden -rewrite` writes what they print, after which the difference is for a person to judge.
//
// A file has one command, story, with the arguments fanout-limit, send-marks-read,
// index-retention and trim-log. Its lines are those of package script, folded in the order of the file, and:
//
//	? a            what a user sees; also "? a #general"
//	? #general     a channel
//	? explain a    why a number is what it is
//	? inbox a      the user's channels and the total
//	? a in thread m1            what a user sees of a thread; also "? explain a in thread m1"
//	? threads a    the threads that are listed for the user, and the total
//	? stamp a
//	? deltas       what was emitted since the last such line, drained after each record
//	restart        closes the partition after a cut, and opens it again
//	crash          closes the partition without a cut, opens it again, and folds what was lost
//
// Whatever a story asks for, at each of these lines and at its end the fold in the order of the
// file, the fold in three random interleavings of the topics, and the model must agree in
// everything.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runGolden(t, file) })
	}
}

// TestStoriesOfTheModel runs the stories of package model's testdata, which are about the other
// settings and events of users (DESIGN §4.7). At each question the fold in the order of the file,
// the fold in random interleavings and the model must agree in every query of the fold.
func TestStoriesOfTheModel(t *testing.T) {
	const folder = "../internal/test/model/testdata/"
	for _, pattern := range []string{"*.txt", "museum/*.txt"} {
		files, err := filepath.Glob(folder + pattern)
		if err != nil || len(files) < 10 {
			t.Fatalf("%d stories in %s: %v", len(files), pattern, err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(strings.TrimPrefix(file, folder), ".txt"), func(t *testing.T) {
				datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
					g := newGolden(t, script.Settings(t, d))
					defer func() { g.close(t) }()
					for line := range strings.Lines(d.Input) {
						if line = strings.TrimSpace(line); strings.HasPrefix(line, "?") {
							g.agree(t)
						} else if err := g.fold(line); err != nil {
							t.Error(err)
						}
					}
					cut(t, g.live)
					g.reopen(t)
					return d.Expected
				})
			})
		}
	}
}

// TestSemanticsExamples: the quotations in docs/semantics*.md equal the stories.
func TestSemanticsExamples(t *testing.T) {
	pages, err := filepath.Glob("../docs/semantics*.md")
	if err != nil {
		t.Fatal(err)
	}
	var doc []byte
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		doc = append(doc, text...)
	}
	var files []string
	for _, pattern := range []string{"testdata/*.txt", "../internal/test/model/testdata/*.txt"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	var stories []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stories = append(stories, string(text)+"\n")
	}
	quotes := strings.Split(string(doc), "```story\n")[1:]
	if len(quotes) < 40 {
		t.Errorf("docs/semantics*.md have only %d examples", len(quotes))
	}
	for _, quote := range quotes {
		quote, _, closed := strings.Cut(quote, "```")
		if !closed || !slices.ContainsFunc(stories, func(s string) bool { return strings.Contains(s, quote) }) {
			t.Errorf("no story of testdata says:\n%s", quote)
		}
	}
}

func runGolden(t *testing.T, file string) {
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "story" {
			d.Fatalf(t, "no such command: %s", d.Cmd)
		}
		return tell(t, script.Settings(t, d), d.Input)
	})
}

// tell runs a story and returns the answers to its questions.
func tell(t rapid.TB, s projections.Settings, story string) string {
	g := newGolden(t, s)
	defer func() { g.close(t) }()
	var out []string
	for line := range strings.Lines(story) {
		line = strings.TrimSpace(line)
		question, asks := strings.CutPrefix(line, "?")
		switch {
		case asks:
			g.agree(t)
			out = append(out, g.answer(t, strings.Fields(question)))
		case line == "restart":
			cut(t, g.live)
			g.reopen(t)
		case line == "crash":
			g.reopen(t)
		default:
			if err := g.fold(line); err != nil {
				t.Error(err)
				return err.Error()
			}
		}
	}
	g.agree(t)
	return strings.Join(out, "\n")
}
