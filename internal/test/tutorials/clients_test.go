package tutorials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// socketOfPage is the address in the programs for a browser.
const socketOfPage = "wss://chat.example/v1/socket"

// jsProject returns a folder in which modules find the JavaScript client and React by name.
func jsProject(t *testing.T) string {
	t.Helper()
	modules, err := servers.NodeModules(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	project := t.TempDir()
	write(t, filepath.Join(project, "package.json"), `{"type": "module"}`)
	client := filepath.Join(project, "node_modules", "@tidemark", "client")
	for _, to := range []string{client, filepath.Join(project, "tidemark")} {
		from := filepath.Join(root, "clients", "js")
		if to != client {
			from = filepath.Join(from, "src")
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil { // a link would not find React beside it
			t.Fatal(err)
		}
	}
	for _, name := range []string{"react", "react-test-renderer"} {
		if err := os.Symlink(filepath.Join(modules, name), filepath.Join(project, "node_modules", name)); err != nil {
			t.Fatal(err)
		}
	}
	return project
}

// TestJavaScript runs the programs of docs/clients.md and clients/js/README.md unchanged, as a
// device of Ann, who gets two messages. Programs for a browser run with a stand-in for the page.
func TestJavaScript(t *testing.T) {
	url, project := node(t), jsProject(t)
	socket := strings.Replace(url, "http", "ws", 1) + "/v1/socket?user_id=ann"
	var browser []string
	for _, page := range []string{"docs/clients.md", "clients/js/README.md"} {
		for _, text := range docs.Of(docs.Blocks(page, read(t, page)), "js", "jsx") {
			browser = append(browser, strings.ReplaceAll(strings.ReplaceAll(text, socketOfPage, socket), "http://127.0.0.1:8080", url))
		}
	}
	if len(browser) != 4 {
		t.Fatalf("the pages have %d programs: say here what each of them does", len(browser))
	}
	write(t, filepath.Join(project, "full.js"), browser[0])
	write(t, filepath.Join(project, "short.js"), browser[1])
	write(t, filepath.Join(project, "App.jsx"), browser[2])
	write(t, filepath.Join(project, "server.js"), browser[3])
	compile(t, project, "App.jsx")
	write(t, filepath.Join(project, "test.js"), strings.ReplaceAll(read(t, "internal/test/tutorials/testdata/clients.js"), "http://127.0.0.1:8080", url))
	program := testkit.Program(t, "node")
	if out := output(t, project, nil, program, "--experimental-websocket", "--no-warnings", "server.js"); out != "1\n" {
		t.Errorf("the server prints %q", out)
	}
	if out := output(t, project, nil, program, "--experimental-websocket", "--no-warnings", "test.js"); out != "full short drawn\n" {
		t.Errorf("it prints %q", out)
	}
}

// compile writes a component of React as JavaScript into the folder out.
func compile(t *testing.T, project, file string) {
	t.Helper()
	output(t, project, nil, testkit.Program(t, "tsc"), "--jsx", "react-jsx", "--allowJs", "--skipLibCheck", "--noResolve", "--isolatedModules", "--target", "es2022", "--module", "es2022", "--outDir", "out", file)
}

// TestPythonOfClients runs the program of docs/clients.md. The client's own tests run the programs
// of clients/python/README.md.
func TestPythonOfClients(t *testing.T) {
	url := node(t)
	programs := examples(t, "docs/clients.md", "python", url)
	if len(programs) != 1 {
		t.Fatalf("the page has %d programs", len(programs))
	}
	if out := inPython(t, programs[0]); out != "1\n" {
		t.Errorf("it prints %q", out)
	}
}
