package floors

import (
	"regexp"
	"strings"
	"testing"
)

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// largest is the largest number of product lines of a package.
const largest = 3500

// ceilings has packages that are larger, with their limits. Only lower a ceiling, and remove it
// once the package fits.
var ceilings = map[string]int{}

func TestPackagesAreSmall(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t, "./...") {
		lines := 0
		for _, name := range append(p.files(t), p.docFile()...) {
			lines += strings.Count(p.source(t, name), "\n")
		}
		seen[p.path()] = true
		ceiling, listed := ceilings[p.path()]
		switch {
		case listed && lines <= largest:
			t.Errorf("%s has %d lines and needs its ceiling of %d no more: remove it from ceilings", p.path(), lines, ceiling)
		case listed && lines > ceiling:
			t.Errorf("%s has %d lines, %d more than its ceiling: split it (ceilings are only lowered)", p.path(), lines, lines-ceiling)
		case listed && lines < ceiling-200:
			t.Logf("%s has %d lines: its ceiling of %d can be lowered", p.path(), lines, ceiling)
		case !listed && lines > largest:
			t.Errorf("%s has %d lines, and a package has %d at most: split it", p.path(), lines, largest)
		}
	}
	for path := range ceilings {
		if !seen[path] {
			t.Errorf("%s has a ceiling and does not exist", path)
		}
	}
}

// docFile is doc.go, if p has one.
func (p pkg) docFile() []string {
	for _, name := range p.GoFiles {
		if name == "doc.go" {
			return []string{name}
		}
	}
	return nil
}

// The binary contains nothing of the test world.
func TestTheBinaryHasNoTestWorld(t *testing.T) {
	own := 0
	for _, p := range list(t, "-deps", "./cmd/tidemark") {
		if p.Module == nil || p.Module.Path+"/" != module {
			continue
		}
		own++
		if strings.HasPrefix(p.path(), "internal/test/") {
			t.Errorf("the binary has %s in it", p.path())
		}
	}
	if own < 30 {
		t.Fatalf("only %d packages of Tidemark are in the binary", own)
	}
}
