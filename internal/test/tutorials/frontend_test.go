package tutorials

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestPage does in an empty folder what the page for frontend developers says, and opens the result
// in a browser: a message raises the badge, and a click on its channel reads it.
func TestPage(t *testing.T) {
	bash, chromium := testkit.Program(t, "bash"), testkit.Program(t, "chromium", "google-chrome", "chromium-browser")
	d := newDuty(t) // the command lets pages of this machine connect
	d.start(`make dev ARGS="--no-demo"`)
	work, address := t.TempDir(), testkit.FreeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	commands := ""
	for _, text := range docs.Of(docs.Blocks("docs/start/frontend.md", read(t, "docs/start/frontend.md")), "sh") {
		if strings.HasPrefix(text, "mkdir ") {
			commands = strings.NewReplacer("/path/to/tidemark", checkout, " 3000 ", " "+port+" ").Replace(text)
		}
	}
	folder, server, ok := strings.Cut(commands, "python3 ")
	if !ok {
		t.Fatalf("no server of files is started by %q", commands)
	}
	output(t, work, nil, bash, "-ec", folder)
	write(t, filepath.Join(work, "badge", "badge.html"), examples(t, "docs/start/frontend.md", "html", d.url)[0])
	files := exec.CommandContext(limit(t), bash, "-c", "exec python3 "+server) //nolint:gosec // a line of the page
	files.Dir = filepath.Join(work, "badge")
	if err := files.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = files.Process.Kill() // it may have ended
		_ = files.Wait()
	})
	page := "http://" + address + "/badge.html"
	answers(t, page)

	publish(t, d.url, joined("general", "ann", "bob"), posted("general", "m1", ""))
	tab := opened(t, chromium, page)
	shows := func(badge, row string) {
		t.Helper()
		testkit.Await(t, row, func() bool {
			is, err := chromedp.Run(tab, chromedp.Evaluate[bool](fmt.Sprintf(`badge.textContent === %q && list.querySelector('li')?.textContent === %q`, badge, row)))
			return err == nil && is
		})
	}
	shows("1", "general: 1")
	if err := chromedp.Do(tab, chromedp.Evaluate[chromedp.Void](`list.querySelector('li').click()`)); err != nil {
		t.Fatal(err)
	}
	shows("0", "general: 0")
}

// answers waits until a server has a page.
func answers(t *testing.T, page string) {
	t.Helper()
	testkit.Await(t, "the server of files", func() bool {
		res, err := http.Get(page) //nolint:noctx,gosec // of a test
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
}

// opened returns a tab of a browser that shows a page.
func opened(t *testing.T, chromium, page string) context.Context {
	t.Helper()
	ctx, end := chromedp.NewExecAllocator(limit(t), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute))...)
	t.Cleanup(end)
	tab, leave := chromedp.NewContext(ctx)
	t.Cleanup(leave)
	if err := chromedp.Do(tab, chromedp.Navigate(page)); err != nil {
		t.Fatal(err)
	}
	return tab
}
