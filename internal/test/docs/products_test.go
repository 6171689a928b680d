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

var (
	definition = regexp.MustCompile(`(?m)^\[\*([a-z0-9/-]+)\*\]: (\S+)$`)
	storyName  = regexp.MustCompile(`\[\*([a-z0-9/-]+)\*\]`)
)

// TestProductsNameStories: docs/semantics-products.md has a table for each product. Each behaviour
// in it works and names a story that exists, or is not Tidemark's and has the reason. A row has no
// other verdict.
func TestProductsNameStories(t *testing.T) {
	const name = "docs/semantics-products.md"
	page := pages(t)[name]
	stories := map[string]string{}
	for _, m := range definition.FindAllStringSubmatch(page, -1) {
		stories[m[1]] = path.Join(path.Dir(name), m[2])
	}
	text := definition.ReplaceAllString(page, "")
	named := map[string]bool{}
	for _, m := range storyName.FindAllStringSubmatch(text, -1) {
		named[m[1]] = true
		file := stories[m[1]]
		if file == "" {
			t.Errorf("%s names %s and does not say which file it is", name, m[1])
			continue
		}
		if want := fileOf(m[1]); !slices.Contains(want, file) {
			t.Errorf("%s says that %s is %s, want one of %v", name, m[1], file, want)
		}
		story, err := os.ReadFile(filepath.Join(Root, file))
		if err != nil || !strings.HasPrefix(string(story), "# ") || !strings.Contains(string(story), "\n----\n") {
			t.Errorf("%s: %s is no story: %v", name, file, err)
		}
	}
	for story := range stories {
		if !named[story] {
			t.Errorf("%s says where %s is and does not name it", name, story)
		}
	}
	products := strings.Split(text, "\n#### ")[1:]
	var titles []string
	for _, p := range products {
		title, table, _ := strings.Cut(p, "\n")
		titles = append(titles, title)
		table, _, _ = strings.Cut(table, "\n#")
		works := 0
		for row := range strings.Lines(table) {
			cells := strings.Split(strings.Trim(row, "| \n"), " | ")
			if !strings.HasPrefix(row, "| ") || cells[0] == "behaviour" {
				continue
			}
			switch {
			case len(cells) != 3 || len(cells[2]) < 10:
				t.Errorf("%s, %s: a row without an explanation: %s", name, title, row)
			case cells[1] == "works":
				works++
				if !storyName.MatchString(cells[2]) {
					t.Errorf("%s, %s: no story shows that this works: %s", name, title, cells[0])
				}
			case cells[1] != "not Tidemark's":
				t.Errorf("%s, %s: it works, or it is not Tidemark's: %s", name, title, row)
			}
		}
		if works < 15 {
			t.Errorf("%s, %s: only %d behaviours work", name, title, works)
		}
	}
	if want := []string{"Slack", "Discord", "WhatsApp", "Telegram", "Signal", "Matrix", "Mattermost", "Rocket.Chat", "Zulip"}; !slices.Equal(titles, want) {
		t.Errorf("%s has tables for %v, want %v", name, titles, want)
	}
}

// fileOf returns the files that may have a story.
func fileOf(name string) []string {
	const told = "internal/test/museum/testdata/"
	if wish, is := strings.CutPrefix(name, "wish/"); is {
		return []string{"internal/test/model/testdata/museum/" + wish + ".txt"}
	}
	if strings.HasPrefix(name, "seed/") {
		return []string{told + name + ".txt"}
	}
	hall, n, _ := strings.Cut(name, "-")
	if len(n) == 1 {
		n = "0" + n
	}
	return []string{told + hall + "/" + n + ".txt", told + "restart/" + name + ".txt"}
}
