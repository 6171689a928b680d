package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/obs/codes"
	"github.com/tidemark/tidemark/processor"
)

// Every code has its section, which names it, and every section of a refusal its code.
func TestEveryCodeHasASection(t *testing.T) {
	_, sections := chapter(t, "docs/runbook.md", "Refusals")
	for _, c := range codes.All() {
		if c.Letter() {
			continue
		}
		if !strings.Contains(sections[c.Section], "Code `"+c.ID+"`.\n") {
			t.Errorf("docs/runbook.md has no section %q with the line \"Code `%s`.\"", c.Section, c.ID)
		}
		if named := regexp.MustCompile("Code `(TM\\d+)`").FindAllString(sections[c.Section], -1); len(named) != 1 {
			t.Errorf("section %q names the codes %v", c.Section, named)
		}
		delete(sections, c.Section)
	}
	for head := range sections {
		t.Errorf("section %q has no code: internal/obs/codes/table.go needs one", head)
	}
}

// behind are words without which some sentences are never said; their codes are found by them.
var behind = []string{
	"", "this call is not from a node of this cluster: ", "manifest m: ", "manifest m: it makes no sense: ", "snapshot s is damaged: ",
	"store s: corrupt: ", "store s: ", "the service token in f ", "chat.messages/3 at offset 7: ",
}

// Every sentence that stops something has the code of the section that explains it.
func TestEveryRefusalHasItsCode(t *testing.T) {
	_, sections := chapter(t, "docs/runbook.md", "Refusals")
	for head, text := range sections {
		sections[head] = strings.Join(strings.Fields(text), " ")
	}
	sentences := 0
	for _, pattern := range refusing {
		for _, file := range matching(t, pattern) {
			for _, s := range errorTexts(t, file) {
				part := longestPart(s)
				if len(part) < 12 || stopsNothing(s) {
					continue
				}
				sentences++
				if !slices.ContainsFunc(behind, func(words string) bool {
					c, ok := codes.Find(codes.Of(words + s))
					return ok && strings.Contains(sections[c.Section], part)
				}) {
					t.Errorf("%s: %q has the code %q, whose section does not explain it: correct internal/obs/codes/table.go",
						strings.TrimPrefix(file, root+"/"), s, codes.Of(s))
				}
			}
		}
	}
	if sentences < 60 {
		t.Errorf("only %d sentences were found", sentences)
	}
}

func stopsNothing(sentence string) bool {
	for no := range noRefusals {
		if strings.Contains(sentence, no) {
			return true
		}
	}
	return false
}

// Every reason of a dead letter has a code, and its row in the runbook names it.
func TestEveryDeadLetterHasItsCode(t *testing.T) {
	text, _, _ := strings.Cut(after(t, document(t, "docs/runbook.md"), "\n## Dead letters\n"), "\n## ")
	reasons := []string{string(processor.ReasonSkipped)}
	for _, r := range events.LetterReasons {
		reasons = append(reasons, string(r))
	}
	for _, reason := range reasons {
		id := codes.OfLetter(reason)
		if id == "" || !regexp.MustCompile("(?m)^\\|.*`"+reason+"` `"+id+"`").MatchString(text) {
			t.Errorf("the reason %s has the code %q, which no row of the dead letters names", reason, id)
		}
	}
	for _, c := range codes.All() {
		if c.Letter() && !slices.Contains(reasons, c.Section) {
			t.Errorf("%s is of %s, which is no reason of a dead letter", c.ID, c.Section)
		}
	}
}

func after(t *testing.T, text, sep string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, sep)
	if !ok {
		t.Fatalf("there is no %q", sep)
	}
	return rest
}

func TestExplainCode(t *testing.T) {
	for _, c := range codes.All() {
		out := ok(t, "", "explain-code", c.ID)
		head, text, _ := strings.Cut(out, "\n\n")
		if head != c.ID+"  "+c.Section || len(text) < 20 {
			t.Errorf("%s is explained by %q", c.ID, out)
		}
		if !c.Letter() && (!strings.Contains(text, "**Do**: ") || strings.Contains(text, "\n### ")) {
			t.Errorf("%s is explained by %q", c.ID, out)
		}
	}
	if list := ok(t, "", "explain-code"); strings.Count(list, "\n") != len(codes.All()) || !strings.HasPrefix(list, "TM001  No broker answers\n") {
		t.Error(list)
	}
	var e explained
	if err := json.Unmarshal([]byte(ok(t, "", "explain-code", "tm002", "--json")), &e); err != nil || e.Code != "TM002" || e.Section != "A topic is missing" || e.Text == "" {
		t.Errorf("%+v, %v", e, err)
	}
	if r := tidemark(t, "", "explain-code", "TM999"); r.code != exitUsage || !strings.Contains(r.errout, "TM999 is no code") {
		t.Errorf("%+v", r)
	}
}

// A command that ends with a refusal names its code.
func TestCommandsNameTheCode(t *testing.T) {
	r := tidemark(t, "", "run", "--brokers", "127.0.0.1:1", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0")
	if r.code != exitFailed || !strings.HasSuffix(r.errout, " [TM001]\n") {
		t.Errorf("%+v", r)
	}
}
