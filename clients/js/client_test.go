package js_test

import (
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/clients/js"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestInNode runs the client's own tests. They need Node and nothing else: no package is installed.
func TestInNode(t *testing.T) {
	node := testkit.Program(t, "node")
	out, err := exec.CommandContext(t.Context(), node, "--test", "--test-reporter=tap", "test/").CombinedOutput() //nolint:gosec // the program is Node
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "\n# fail 0\n") || strings.Contains(string(out), "\n# pass 0\n") {
		t.Fatalf("no test was run:\n%s", out)
	}
}

// TestTypes compiles what is declared for TypeScript together with the code that it declares, and
// with a program that uses it.
func TestTypes(t *testing.T) {
	tsc := testkit.Program(t, "tsc")
	if out, err := exec.CommandContext(t.Context(), tsc, "--project", "tsconfig.json").CombinedOutput(); err != nil { //nolint:gosec // the program is TypeScript's compiler
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestModulesImportOnlyEachOther: a browser finds all that a module names.
func TestModulesImportOnlyEachOther(t *testing.T) {
	files := js.Files()
	modules := 0
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".js") {
			return err
		}
		modules++
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "import ") && !strings.HasPrefix(line, "export {") {
				continue
			}
			_, from, ok := strings.Cut(line, "from '")
			name, _, end := strings.Cut(from, "'")
			if !ok || !end {
				t.Errorf("%s: %q names no module in one line", path, line)
				continue
			}
			if _, err := fs.Stat(files, strings.TrimPrefix(name, "./")); err != nil {
				t.Errorf("%s imports %q: %v", path, name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if modules < 5 {
		t.Fatalf("%d modules are embedded", modules)
	}
}
