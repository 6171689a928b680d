package floors

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// without has packages whose map is not complete yet.
var without = []string{}

var goFile = regexp.MustCompile(`[\w/.-]*\w+\.go\b`)

// A package of three or more files has a map of them in its comment: lines indented by a tab, each
// file once, in reading order. Smaller packages may have one. Every file in a map exists.
func TestEveryPackageHasAMapOfItsFiles(t *testing.T) {
	for _, p := range list(t, "./...") {
		comment := p.comment(t)
		if comment == "" && len(p.GoFiles) > 0 && len(p.files(t)) > 0 {
			t.Errorf("%s has no package comment", p.path())
		}
		files := p.files(t)
		named := map[string]int{}
		for line := range strings.Lines(comment) {
			if !strings.HasPrefix(line, "\t") {
				continue
			}
			for _, name := range goFile.FindAllString(line, -1) {
				named[name]++
				if _, err := os.Stat(filepath.Join(p.Dir, name)); err != nil {
					excuse(t, p, "the map of %s names %s, which is not there", p.path(), name)
				}
			}
		}
		if len(files) < 3 {
			continue
		}
		for _, name := range files {
			if named[name] == 0 {
				excuse(t, p, "the map of %s does not name %s", p.path(), name)
			}
		}
		for name, times := range named {
			if times > 1 && slices.Contains(files, name) {
				excuse(t, p, "the map of %s names %s %d times", p.path(), name, times)
			}
		}
	}
	for _, path := range without {
		if excused[path] == 0 {
			t.Errorf("the map of %s is complete: remove it from without", path)
		}
	}
}

// excused counts the errors in the maps of the packages in without.
var excused = map[string]int{}

func excuse(t *testing.T, p pkg, format string, args ...any) {
	t.Helper()
	if slices.Contains(without, p.path()) {
		excused[p.path()]++
		t.Logf(format, args...)
		return
	}
	t.Errorf(format, args...)
}

// comment returns the package comment of p, from any of its files.
func (p pkg) comment(t *testing.T) (text string) {
	t.Helper()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		text += f.Doc.Text()
	}
	return text
}
