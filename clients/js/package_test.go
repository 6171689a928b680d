package js_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/docs"
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

// install packs the module as npm publishes it, and installs the archive into a project of its own,
// by the command of docs/tutorials/react.md. It returns the names of the files of the package.
func install(t *testing.T) (project string, files []string) {
	t.Helper()
	project = t.TempDir()
	testkit.Program(t, "npm")
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	command := docs.Of(docs.Blocks("docs/tutorials/react.md", read(t, "../../docs/tutorials/react.md")), "sh")[0]
	write(t, filepath.Join(project, "package.json"), `{"type": "module"}`)
	write(t, filepath.Join(project, ".npmrc"), "offline=true\naudit=false\nfund=false\n")
	output(t, project, testkit.Program(t, "bash"), "-ec", strings.ReplaceAll(command, "/path/to/tidemark/clients/js", folder))
	module := filepath.Join(project, "node_modules", "@tidemark", "client")
	err = filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(module, path)
		files = append(files, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return project, files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPackage: what npm publishes has the modules and their types, no tests, and works in a project
// that has installed it beside React.
func TestPackage(t *testing.T) {
	project, files := install(t)
	modules, err := servers.NodeModules(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"react", "react-test-renderer"} {
		if err := os.Symlink(filepath.Join(modules, name), filepath.Join(project, "node_modules", name)); err != nil {
			t.Fatal(err)
		}
	}
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
	write(t, filepath.Join(project, "react.test.js"), read(t, "packed/react.test.js"))
	out := output(t, project, testkit.Program(t, "node"), "--test", "--test-reporter=tap", "react.test.js")
	if !strings.Contains(out, "\n# pass 6\n") {
		t.Errorf("not all tests were run:\n%s", out)
	}
}

// TestPackageWithANode: in a project that has installed the package and nothing else, the server's
// program of README.md and a device use a node, and a program in TypeScript finds all types.
func TestPackageWithANode(t *testing.T) {
	s, err := dev.Start(limit(t), dev.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.AwaitReady(limit(t)); err != nil {
		t.Fatal(err)
	}
	project, _ := install(t)
	programs := docs.Of(docs.Blocks("clients/js/README.md", read(t, "README.md")), "js")
	write(t, filepath.Join(project, "server.js"), strings.ReplaceAll(programs[len(programs)-1], "http://127.0.0.1:8080", s.URL))
	write(t, filepath.Join(project, "device.js"), read(t, "packed/device.js"))
	write(t, filepath.Join(project, "typed.ts"), read(t, "packed/typed.ts"))
	write(t, filepath.Join(project, "react.d.ts"), read(t, "test/react.d.ts"))
	node := testkit.Program(t, "node")
	if out := output(t, project, node, "server.js"); out != "1\n" {
		t.Errorf("the server prints %q", out)
	}
	if out := output(t, project, node, "--experimental-websocket", "--no-warnings", "device.js", strings.Replace(s.URL, "http", "ws", 1)+"/v1/socket"); out != "1\n0\n" {
		t.Errorf("the device prints %q", out)
	}
	write(t, filepath.Join(project, "tsconfig.json"), `{"compilerOptions": {"target": "es2022", "lib": ["es2022", "dom"], "module": "nodenext", "types": [], "strict": true, "noEmit": true}, "files": ["typed.ts", "react.d.ts"]}`)
	output(t, project, testkit.Program(t, "tsc"), "--project", ".")
}
