package clientmodule

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// released is a version that the module never had, so that no cache has it.
var released = module.Version{Path: "github.com/tidemark/tidemark/client", Version: "v0.0.1-test"}

// proxy writes the module as a module proxy serves it after a release, and returns the URL of the
// folder.
func proxy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(released.Path), "@v")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-02T03:04:05Z"}`, released.Version), ".mod": string(gomod),
	} {
		if err := os.WriteFile(filepath.Join(at, released.Version+name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(filepath.Join(at, released.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := zip.CreateFromDir(archive, released, folder); err != nil {
		t.Fatal(err)
	}
	return "file://" + dir
}

// TestPackage adds the module to a program in an empty folder, and runs it: from its archive, as
// `go get` does after a release, and from a checkout, by the commands of docs/clients.md. The
// program is the first one of that page.
func TestPackage(t *testing.T) {
	read(t, "*.go", "go.*", "cached/*.go")
	s := stack(t)
	page, err := os.ReadFile("../../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	blocks := docs.Blocks("docs/clients.md", string(page))
	text := strings.ReplaceAll(docs.Of(blocks, "go")[0], "http://127.0.0.1:8080", s.URL)
	// What the module depends on comes from the cache of this repository's build.
	cache := strings.TrimSpace(command(t, nil, "env", "GOMODCACHE"))
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GOMODCACHE="+t.TempDir(), "GOPROXY="+proxy(t)+",file://"+filepath.Join(cache, "cache", "download"))
	for _, c := range []struct{ name, commands, uses string }{
		{"release", "go get " + released.String(), released.Version + " <nil>"},
		{"checkout", strings.ReplaceAll(docs.Of(blocks, "sh")[0], "/path/to/tidemark/client", checkout), checkout},
	} {
		t.Run(c.name, func(t *testing.T) {
			work := t.TempDir()
			if err := os.WriteFile(filepath.Join(work, "main.go"), []byte(strings.ReplaceAll(text, "lunch", c.name)), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(commands string) string {
				t.Helper()
				cmd := exec.CommandContext(limit(t), testkit.Program(t, "bash"), "-ec", commands) //nolint:gosec // commands of the page and the test
				cmd.Dir, cmd.Env = work, env
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", commands, err, out)
				}
				return string(out)
			}
			run("go mod init example.com/server\n" + c.commands)
			if out := run("go run ."); out != "1\n" {
				t.Errorf("the program prints %q", out)
			}
			if out := run("go list -m -f '{{.Version}} {{.Replace}}' " + released.Path); !strings.Contains(out, c.uses) {
				t.Errorf("the program uses %s", out)
			}
		})
	}
}
