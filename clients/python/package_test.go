package python_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// in runs a program in a folder, and returns what it prints.
func in(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(limit(t), program, args...) //nolint:gosec // programs of the test
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH=", "PYTHONDONTWRITEBYTECODE=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INDEX=1", "PIP_NO_BUILD_ISOLATION=0") // the last one turns the isolation off
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// TestPackage builds the archives for PyPI, and installs each into an environment of its own, and a
// third one by the tutorial's command. In an empty folder the tutorial's program runs with the
// installed package, and its types are checked.
func TestPackage(t *testing.T) {
	read(t, "src/tidemark/*", "pyproject.toml", "README.md")
	python, err := servers.ClientPython(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	built := t.TempDir()
	in(t, folder, python, "-m", "hatchling", "build", "-d", built)
	s := stack(t)
	page, err := os.ReadFile("../../docs/tutorials/python.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := docs.Blocks("docs/tutorials/python.md", string(page))
	program, command := docs.Of(blocks, "python")[0], docs.Of(blocks, "sh")[0]
	for name, install := range map[string]string{
		"wheel":    fmt.Sprintf("pip install %s/tidemark-*-py3-none-any.whl", built),
		"source":   fmt.Sprintf("pip install %s/tidemark-*.tar.gz", built),
		"tutorial": strings.ReplaceAll(command, "/path/to/tidemark/clients/python", folder),
	} {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			own := environment(t, python, filepath.Join(work, "env"))
			in(t, work, testkit.Program(t, "bash"), "-ec", ". env/bin/activate\n"+install)
			// Each one uses a channel and users of its own.
			text := strings.NewReplacer("http://127.0.0.1:8080", s.URL, "coffee", "coffee-"+name, "pia", "pia-"+name).Replace(program)
			if err := os.WriteFile(filepath.Join(work, "badge.py"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out := in(t, work, own, "badge.py"); !strings.HasPrefix(out, "badge 2\n") || !strings.HasSuffix(out, "\nbadge 0\n") {
				t.Errorf("the tutorial prints %q", out)
			}
			in(t, work, python, "-m", "mypy", "--strict", "--cache-dir", filepath.Join(work, "types"), "--python-executable", own, "badge.py")
			if from := in(t, work, own, "-c", "import tidemark; print(tidemark.__file__)"); !strings.HasPrefix(from, filepath.Join(work, "env")) {
				t.Errorf("the program uses the package in %s", from)
			}
			if names := in(t, work, own, "-m", "pip", "show", "--files", "tidemark"); strings.Contains(names, "test") || !strings.Contains(names, "tidemark/py.typed") {
				t.Errorf("the package has these files:\n%s", names)
			}
		})
	}
}

// environment makes an environment in which pip finds the packages of another one, so that it needs
// no network for what the client depends on. It returns its Python.
func environment(t *testing.T, other, dir string) (python string) {
	t.Helper()
	in(t, "", other, "-m", "venv", dir)
	python = filepath.Join(dir, "bin", "python3")
	const where = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
	own, theirs := in(t, "", python, "-c", where), in(t, "", other, "-c", where)
	if err := os.WriteFile(filepath.Join(strings.TrimSpace(own), "other.pth"), []byte(theirs), 0o600); err != nil {
		t.Fatal(fmt.Errorf("the path to the other packages: %w", err))
	}
	return python
}
