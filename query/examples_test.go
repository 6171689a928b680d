package query

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

var (
	evaluatedAt = regexp.MustCompile(`"evaluated_at":"[^"]*"`)
	lineBreaks  = regexp.MustCompile(`\n *`)
)

// TestExamplesOfTheDocument runs the calls that docs/query-api.md shows with their answers, about
// the channel general of TestAnswersInJSON.
func TestExamplesOfTheDocument(t *testing.T) {
	bash := testkit.Program(t, "bash")
	testkit.Program(t, "curl")
	c := newCluster(t, 1, 1)
	general(c)
	page, err := os.ReadFile("../docs/query-api.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, text := range docs.Of(docs.Blocks("docs/query-api.md", string(page)), "console") {
		for _, s := range docs.Steps(text) {
			calls++
			here := strings.ReplaceAll(s.Command, "127.0.0.1:8080", strings.TrimPrefix(c.nodes[0].srv.URL, "http://"))
			out, err := exec.CommandContext(t.Context(), bash, "-c", here).Output() //nolint:gosec // a command of the page
			if err != nil {
				t.Fatalf("%s: %v", here, err)
			}
			got := evaluatedAt.ReplaceAllString(string(out), "")
			if want := evaluatedAt.ReplaceAllString(lineBreaks.ReplaceAllString(s.Prints, ""), ""); got != want {
				t.Errorf("%s\n got %s\nwant %s", s.Command, got, want)
			}
		}
	}
	if calls != 2 {
		t.Errorf("the page has %d calls with answers", calls)
	}
}
