package tutorials

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
	"github.com/tidemark/tidemark/internal/test/transcript"
)

const root = "../../.."

// limit returns a context that ends with the test, or after a time that is enough on a busy
// machine.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// node starts everything in one process, and returns its URL.
func node(t *testing.T) string {
	t.Helper()
	return stack(t, dev.Config{}).URL
}

// stack starts everything in one process.
func stack(t *testing.T, c dev.Config) *dev.Stack {
	t.Helper()
	s, err := dev.Start(limit(t), c)
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
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path)) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// examples returns the examples of a page in a language, for a node at url.
func examples(t *testing.T, page, language, url string) (list []string) {
	t.Helper()
	fence := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$")
	for _, m := range fence.FindAllStringSubmatch(read(t, page), -1) {
		text := strings.ReplaceAll(m[1], "http://127.0.0.1:8080", url)
		list = append(list, strings.ReplaceAll(text, "ws://127.0.0.1:8080", strings.Replace(url, "http", "ws", 1)))
	}
	if len(list) == 0 {
		t.Fatalf("%s has no example in %s", page, language)
	}
	return list
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// output runs a program in a folder.
func output(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(limit(t), program, args...) //nolint:gosec // programs of the test
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, args, err, out)
	}
	return string(out)
}

func TestMain(m *testing.M) { transcript.Main(m) }

// inPython runs a program that uses the Python client, and returns what it prints.
func inPython(t *testing.T, program string) string {
	t.Helper()
	python, err := servers.ClientPython(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	src, err := filepath.Abs(filepath.Join(root, "clients", "python", "src"))
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(t.TempDir(), "program.py"), program)
	return output(t, "", []string{"PYTHONPATH=" + src}, python, "-B", file)
}

func TestPython(t *testing.T) {
	program := examples(t, "docs/tutorials/python.md", "python", node(t))[0]
	if out := inPython(t, program); !regexp.MustCompile(`\A(badge 2\n)+badge 0\n\z`).MatchString(out) {
		t.Errorf("it prints %q", out)
	}
}

func TestJava(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "Badge.java"), examples(t, "docs/tutorials/java.md", "java", node(t))[0])
	out := output(t, "", nil, testkit.Program(t, "java"), file)
	if !regexp.MustCompile(`\A(badge 0\n)*(badge 1\n)+badge 0\n\z`).MatchString(out) {
		t.Errorf("it prints %q", out)
	}
}

// TestReact compiles the page's component and renders it: first nothing, then a badge and a list,
// and after a click the remaining part.
func TestReact(t *testing.T) {
	url := node(t)
	project := jsProject(t)
	write(t, filepath.Join(project, "App.jsx"), examples(t, "docs/tutorials/react.md", "jsx", url)[0])
	compile(t, project, "App.jsx")
	text := read(t, "internal/test/tutorials/testdata/react.js")
	write(t, filepath.Join(project, "test.js"), strings.ReplaceAll(text, "http://127.0.0.1:8080", url))
	out := output(t, project, nil, testkit.Program(t, "node"), "--experimental-websocket", "--no-warnings", "test.js")
	if out != "drawn\n" {
		t.Errorf("it prints %q", out)
	}
}

// TestCurl: the calls of the page for backend engineers return the answers that it shows.
func TestCurl(t *testing.T) {
	url := node(t)
	var shown []string
	for _, text := range examples(t, "docs/start/backend.md", "sh", url) {
		if strings.HasPrefix(text, "curl") {
			// The token of the page is for the only partition that it shows; here the channel may
			// be in another.
			text = strings.ReplaceAll(text, `, "after": ["chat.messages/0/2"]`, "")
			shown = append(shown, output(t, "", nil, testkit.Program(t, "bash"), "-c", text))
		}
	}
	if len(shown) != 3 || !strings.HasPrefix(shown[0], `{"after":["chat.messages/`) || !strings.HasPrefix(shown[2], `{"after":["chat.reads/`) {
		t.Errorf("the answers are %q", shown)
	}
}
