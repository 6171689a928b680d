package museum

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestMuseum runs all stories at the same time, including the wishes, and then compares all of
// Redis with the model of the written events.
func TestMuseum(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env)
		s.sockets = newSockets(t, s)
		var all sync.WaitGroup
		for _, hall := range []string{"museum", "own", "seed"} {
			for _, file := range files(t, hall) {
				all.Go(func() { tellFile(t, s, hall, file) })
			}
		}
		if !testing.Short() { // the others take the race detector long enough
			for _, file := range wishes(t) {
				all.Go(func() { tellWishes(t, s, file) })
			}
		}
		all.Wait()
		if !t.Failed() {
			s.audit(t)
		}
	})
}

func files(t *testing.T, hall string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join("testdata", hall, "*.txt"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no stories in %s: %v", hall, err)
	}
	return list
}

// name returns the name of a test: museum-1, own-7, seed/list-order.
func name(hall, file string) string {
	base := strings.TrimSuffix(filepath.Base(file), ".txt")
	switch hall {
	case "seed":
		return "seed/" + base
	case "restart":
		return base
	}
	return hall + "-" + strings.TrimLeft(base, "0")
}

// tellFile runs the stories of a file one after the other.
func tellFile(t *testing.T, s *site, hall, file string) {
	t.Run(name(hall, file), func(t *testing.T) {
		if wrong := firstLine(t, file); !strings.HasPrefix(wrong, "# ") {
			t.Errorf("%s must begin with a comment that says what it is about, not with %q", file, wrong)
		}
		n := 0
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			n++
			l := newTale(t, s, fmt.Sprintf("%s.%d", name(hall, file), n), d)
			answers := strings.Join(l.tell(strings.Split(d.Input, "\n")), "\n")
			l.pushedAll()
			return answers
		})
	})
}

func firstLine(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	if !lines.Scan() {
		t.Fatalf("%s is empty: %v", file, lines.Err())
	}
	return lines.Text()
}

// rows are the numbers of the known defects of other products.
var rows = []int{
	1, 2, 4, 6, 9, 10, 12, 15, 16, 21, 23, 25, 26, 27, 28, 30, 31, 35, 38, 39, 40, 43, 46, 47, 48, 49, 50, 53, 55, 56, 57, 59, 60,
	62, 64, 68, 71, 73, 75, 76, 77, 81, 83,
}

// TestMuseumIsComplete: every row has a story or a test of its own: 76 is
// TestReceiptsCostWhatIsRead, 77 is TestMarkAllRead.
func TestMuseumIsComplete(t *testing.T) {
	stories := map[string]bool{"museum-76": true, "museum-77": true}
	for _, hall := range []string{"museum", "restart"} {
		for _, file := range files(t, hall) {
			stories[name(hall, file)] = true
		}
	}
	for _, n := range rows {
		if !stories[fmt.Sprintf("museum-%d", n)] {
			t.Errorf("museum-%d has no story", n)
		}
	}
	if own := len(files(t, "own")); own < 30 {
		t.Errorf("only %d stories of our own", own)
	}
}

// TestSemanticsExamples: docs/semantics*.md quote stories of this package word for word, and name
// only stories that exist.
func TestSemanticsExamples(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/semantics*.md")
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
	var stories strings.Builder
	seen := map[string]bool{"museum-76": true, "museum-77": true}
	for _, hall := range []string{"museum", "own", "restart", "seed"} {
		for _, file := range files(t, hall) {
			seen[name(hall, file)] = true
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			stories.Write(text)
			stories.WriteByte('\n')
		}
	}
	quotes := strings.Split(string(doc), "```tale\n")[1:]
	if len(quotes) < 3 {
		t.Errorf("docs/semantics*.md have only %d examples", len(quotes))
	}
	for _, quote := range quotes {
		quote, _, closed := strings.Cut(quote, "```")
		if !closed || !strings.Contains(stories.String(), quote) {
			t.Errorf("no story says:\n%s", quote)
		}
	}
	names := regexp.MustCompile(`\*((?:museum|own)-\d+|seed/[a-z0-9-]+)\*`).FindAllSubmatch(doc, -1)
	if len(names) < 20 {
		t.Errorf("docs/semantics*.md name only %d stories", len(names))
	}
	for _, m := range names {
		if !seen[string(m[1])] {
			t.Errorf("docs/semantics*.md name %s, which has no story", m[1])
		}
	}
}
