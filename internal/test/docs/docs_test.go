package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func pages(t *testing.T) map[string]string {
	t.Helper()
	all, err := Pages(Root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return all
}

func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	links := 0
	for from, text := range all {
		for _, link := range Links(text) {
			links++
			file, anchor, _ := strings.Cut(link, "#")
			to := from
			if file != "" {
				to = path.Join(path.Dir(from), file)
			}
			if _, err := os.Stat(filepath.Join(Root, to)); err != nil {
				t.Errorf("%s links to %s: %v", from, link, err)
			} else if anchor != "" && !Anchors(all[to])[anchor] {
				t.Errorf("%s links to %s: %s has no such heading", from, link, to)
			}
		}
	}
	if links < 60 {
		t.Errorf("only %d links were found", links)
	}
}

var (
	section   = regexp.MustCompile(`^(\d+(?:\.\d+)?)\.? `)
	reference = regexp.MustCompile(`DESIGN((?:,? (?:and )?§\d+(?:\.\d+)?)*)`)
	number    = regexp.MustCompile(`\d+(?:\.\d+)?`)
	noDoc     = regexp.MustCompile(`\b(RELIABILITY|MUSEUM|HOUSE|FOUND|NEWCOMER) §`)
)

func TestSectionsOfTheDesignExist(t *testing.T) {
	sections := map[string]bool{}
	for _, h := range Headings(pages(t)["docs/design.md"]) {
		if m := section.FindStringSubmatch(h); m != nil {
			sections[m[1]] = true
		}
	}
	references := 0
	err := Files(Root, []string{".go", ".md", ".js", ".txt", ".yml", ".proto", ".lua", "Makefile"}, func(path, text string) {
		if strings.HasPrefix(path, "internal/test/docs/") {
			return
		}
		for _, m := range reference.FindAllStringSubmatch(unwrapped(text), -1) {
			references++
			named := number.FindAllString(m[1], -1)
			if len(named) == 0 && !strings.HasSuffix(path, ".md") {
				t.Errorf("%s: DESIGN without a section: write DESIGN §4.5", path)
			}
			for _, n := range named {
				if !sections[n] {
					t.Errorf("%s refers to DESIGN §%s, which docs/design.md does not have", path, n)
				}
			}
		}
		for _, m := range noDoc.FindAllString(text, -1) {
			t.Errorf("%s refers to %s, a document that is not in the repository", path, m)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if references < 100 {
		t.Errorf("only %d references were found", references)
	}
}

// unwrapped joins the lines of a comment, so that a reference may span two lines.
func unwrapped(text string) string { return wrap.ReplaceAllString(text, " ") }

var wrap = regexp.MustCompile(`\n[ \t]*(?://|#|\*)*[ \t]*`)

var glossaryName = regexp.MustCompile("`([a-z][a-z/]*)\\.([A-Za-z]+)` \\|$")

func TestGlossaryNamesDeclarations(t *testing.T) {
	declared := map[string]map[string]bool{}
	rows := 0
	for line := range strings.Lines(pages(t)["docs/glossary.md"]) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| word ") {
			continue
		}
		rows++
		m := glossaryName.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("the last cell names no declaration as `package.Name`: %s", line)
			continue
		}
		if declared[m[1]] == nil {
			names, err := Declared(filepath.Join(Root, m[1]))
			if err != nil {
				t.Fatal(err)
			}
			declared[m[1]] = names
		}
		if !declared[m[1]][m[2]] {
			t.Errorf("docs/glossary.md: package %s declares no %s", m[1], m[2])
		}
	}
	if rows < 60 {
		t.Errorf("only %d rows were found", rows)
	}
}

func TestAnchors(t *testing.T) {
	page := "# A page\n\n```\n# no heading\n```\n\n## Kafka's `run` (and more)\n\n## Twice\n\n## Twice\n"
	anchors := Anchors(page)
	for _, want := range []string{"a-page", "kafkas-run-and-more", "twice", "twice-1"} {
		if !anchors[want] {
			t.Errorf("no anchor %q in %v", want, anchors)
		}
	}
	if len(anchors) != 4 {
		t.Errorf("%d anchors, want 4: %v", len(anchors), anchors)
	}
	links := Links("[a](b.md#c) `[no](d)` [web](https://e) [f](#g)")
	if want := []string{"b.md#c", "#g"}; !slices.Equal(links, want) {
		t.Errorf("links are %q, want %q", links, want)
	}
}
