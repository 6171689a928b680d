package floors

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	root   = "../../.."
	module = "github.com/tidemark/tidemark/"
)

// pkg is a package as `go list` describes it.
type pkg struct {
	Dir            string
	ImportPath     string
	Export         string // file of its types, of `go list -export`
	Imports        []string
	GoFiles        []string // without tests
	IgnoredGoFiles []string // those of other systems
	Module         *struct{ Path string }
}

// path returns the folder of p below the root.
func (p pkg) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// product reports whether p is part of what is released.
func (p pkg) product() bool {
	return len(p.GoFiles) > 0 && !strings.HasPrefix(p.path(), "internal/test/")
}

// list returns the packages of `go list` with args.
func list(t *testing.T, args ...string) (all []pkg) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Export,Imports,GoFiles,IgnoredGoFiles,Module"}, args...)...)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 30 {
		t.Fatalf("go list knows %d packages", len(all))
	}
	return all
}

// source returns the text of a file in p.
func (p pkg) source(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// files returns the product files of p for all systems, without generated ones and doc.go.
func (p pkg) files(t *testing.T) (names []string) {
	t.Helper()
	for _, name := range append(append([]string{}, p.GoFiles...), p.IgnoredGoFiles...) {
		if name == "doc.go" || strings.HasSuffix(name, "_test.go") || generated.MatchString(p.source(t, name)) {
			continue
		}
		names = append(names, name)
	}
	return names
}
