package processor

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestGuaranteesNameTestsThatExist: the tests and files that docs/guarantees.md names exist.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	root := os.DirFS("..")
	defined := map[string]bool{}
	testFunc := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(root, path)
		for _, m := range testFunc.FindAllSubmatch(src, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(page), -1)
	if len(named) < 20 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, name := range named {
		if !defined[name] {
			t.Errorf("docs/guarantees.md names %s, which does not exist", name)
		}
	}
	for _, m := range regexp.MustCompile("`(\\w+/\\w+\\.go)`").FindAllStringSubmatch(string(page), -1) {
		if _, err := fs.Stat(root, m[1]); err != nil {
			t.Errorf("docs/guarantees.md names %s: %v", m[1], err)
		}
	}
}
