package tutorials

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestTokens follows the page for frontend developers with a node that has keys, the page's backend
// and a browser: the page shows the badge with the backend's token. Once the token has expired, the
// gateway closes the socket, and the page gets another token and the next change.
func TestTokens(t *testing.T) {
	bash, node := testkit.Program(t, "bash"), testkit.Program(t, "node")
	chromium := testkit.Program(t, "chromium", "google-chrome", "chromium-browser")
	d := newDuty(t)
	d.start(`make dev ARGS="--no-demo"`)
	address := testkit.FreeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	const lifetime, respond = "exp: now + 600", "if (request.url === '/badge-token') {\n"
	asked := filepath.Join(t.TempDir(), "asked")
	own := strings.NewReplacer("127.0.0.1:3000", address, ".listen(3000,", ".listen("+port+",",
		lifetime, "exp: now + 5", respond, respond+"(await import('node:fs')).appendFileSync('"+asked+"', '+');\n")
	text := read(t, "docs/start/frontend.md")
	var keys, emit string
	for _, block := range docs.Of(docs.Blocks("docs/start/frontend.md", text), "sh") {
		switch {
		case strings.HasPrefix(block, "openssl "):
			keys = own.Replace(block)
		case strings.HasPrefix(block, "bin/tidemark emit "):
			emit = block
		}
	}
	setUp, _, _ := strings.Cut(keys, "bin/tidemark run")
	programs := docs.Of(docs.Blocks("docs/start/frontend.md", text), "js")
	if len(programs) != 2 || !strings.Contains(programs[0], lifetime) || !strings.Contains(programs[0], respond) {
		t.Fatalf("%d programs, of which the first is to have %q and %q", len(programs), lifetime, respond)
	}
	works := func(block string) {
		t.Helper()
		if out, err := d.run(block); err != nil {
			t.Fatalf("%s: %v\n%s", block, err, out)
		}
	}
	works(setUp)
	d.startAt(keys, "bin/tidemark run", d.own[0])

	work, err := filepath.Abs(filepath.Join(root, "clients", "js", "src"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	output(t, folder, nil, bash, "-ec", "cp -r '"+work+"' tidemark")
	html := examples(t, "docs/start/frontend.md", "html", d.url)[0]
	before, rest, ok1 := strings.Cut(html, "const client = ")
	_, after, ok2 := strings.Cut(rest, "\n")
	if !ok1 || !ok2 {
		t.Fatalf("no line makes a client in %s", html)
	}
	write(t, filepath.Join(folder, "badge.html"), d.Replace.Replace(before+programs[1]+after))
	write(t, filepath.Join(folder, "server.mjs"), d.Replace.Replace(own.Replace(programs[0])))
	backend := exec.CommandContext(limit(t), node, "server.mjs") //nolint:gosec // the program of the page
	backend.Dir = folder
	if err := backend.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = backend.Process.Kill()
		_ = backend.Wait()
	})
	page := "http://" + address + "/badge.html"
	answers(t, page)
	works(emit)
	tab := opened(t, chromium, page)
	shows := func(badge string) {
		t.Helper()
		testkit.Await(t, "the badge "+badge, func() bool {
			is, err := chromedp.Run(tab, chromedp.Evaluate[bool](`badge.textContent === "`+badge+`"`))
			return err == nil && is
		})
	}
	shows("1")
	tokens := func() int {
		b, err := os.ReadFile(asked) //nolint:gosec // of this test
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	if n := tokens(); n != 1 {
		t.Errorf("the page has asked for %d tokens", n)
	}
	for ctx := limit(t); tokens() < 2 && ctx.Err() == nil; { // within the clocks' difference of 30 s and a minute
		time.Sleep(100 * time.Millisecond)
	}
	works(strings.ReplaceAll(emit, `"m1"`, `"m2"`))
	shows("2")
}
