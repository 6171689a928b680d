package js_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// limit ends with the test, or after so long that a busy machine is done.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func output(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(limit(t), program, args...) //nolint:gosec // programs of the test
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// install packs the module as npm publishes it, and puts it beside React into a project of its own.
func install(t *testing.T) (project string, files []string) {
	t.Helper()
	modules, err := servers.NodeModules(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	project = t.TempDir()
	output(t, ".", testkit.Program(t, "npm"), "pack", "--silent", "--pack-destination", project)
	packed, err := filepath.Glob(filepath.Join(project, "*.tgz"))
	if err != nil || len(packed) != 1 {
		t.Fatalf("npm packed %v, %v", packed, err)
	}
	files = unpack(t, packed[0], filepath.Join(project, "node_modules", "@tidemark", "client"))
	for _, name := range []string{"react", "react-test-renderer"} {
		if err := os.Symlink(filepath.Join(modules, name), filepath.Join(project, "node_modules", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(project, "package.json"), []byte(`{"type": "module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return project, files
}

// unpack writes the files of a package below a folder, and returns their names.
func unpack(t *testing.T, archive, to string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(archive) //nolint:gosec // a file of the test
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(h.Name, "package/")
		content, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, filepath.FromSlash(name)) //nolint:gosec // npm has just written it
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestPackage: what npm publishes has the modules and their types, no tests, and works in a project
// that has installed it beside React.
func TestPackage(t *testing.T) {
	project, files := install(t)
	for _, want := range []string{"README.md", "package.json", "src/index.js", "src/index.d.ts", "react/index.js", "react/index.d.ts", "server/index.js", "server/index.d.ts"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not in the package: %v", want, files)
		}
	}
	for _, name := range files {
		if strings.Contains(name, "test") || strings.HasSuffix(name, ".go") {
			t.Errorf("%s is in the package", name)
		}
	}
	text, err := os.ReadFile("packed/react.test.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "react.test.js"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	out := output(t, project, testkit.Program(t, "node"), "--test", "--test-reporter=tap", "react.test.js")
	if !strings.Contains(out, "\n# pass 6\n") {
		t.Errorf("not all tests were run:\n%s", out)
	}
}
