package tutorials

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// TestSizingScript: the script of the form gives the results of the page's formulas.
func TestSizingScript(t *testing.T) {
	node := testkit.Program(t, "node")
	script, err := filepath.Abs(filepath.Join(root, "docs", "assets", "sizing.js"))
	if err != nil {
		t.Fatal(err)
	}
	constants := constantsOf(t, read(t, "docs/sizing.md"))
	for _, s := range []size{
		{1, 1, 0, 0, 0, 1, "none"},
		{10_000, 20, 3_000, 200, 0, 16, "json"},
		{1_000_000, 50, 200_000, 5_000, 1, 32, "packed"},
		{10_000_000, 50, 2_000_000, 20_000, 2, 64, "inbox"},
		{123_457, 33.5, 20_001, 1_234.5, 3, 1.5, "packed"},
		{200_000_000, 120, 19_999_999, 700_000, 1, 256, "json"},
	} {
		program := fmt.Sprintf(`console.log(JSON.stringify(require(%q).results({users:%v,channels:%v,devices:%v,events:%v,standbys:%v,node:%v,redis:%q})))`,
			script, s.users, s.channels, s.devices, s.events, s.standbys, s.node, s.redis)
		var got map[string]string
		if err := json.Unmarshal([]byte(output(t, "", nil, node, "-e", program)), &got); err != nil {
			t.Fatal(err)
		}
		if want := s.results(constants); !maps.Equal(got, want) {
			t.Errorf("%+v:\n%v, want\n%v", s, got, want)
		}
	}
}

// TestSizingForm uses the form by keyboard alone. Every field has one label, a number that is wrong
// is reported beside its field and to screen readers, and axe-core finds nothing.
func TestSizingForm(t *testing.T) {
	chromium := testkit.Program(t, "chromium", "google-chrome", "chromium-browser")
	_, form, _ := strings.Cut(read(t, "docs/sizing.md"), "## Calculator\n")
	form, _, ok := strings.Cut(form, "\n\nThe formulas")
	if !ok || !strings.Contains(form, `<script src="assets/sizing.js">`) {
		t.Fatal("docs/sizing.md has no form")
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, "assets", "sizing.js"), read(t, "docs/assets/sizing.js"))
	page := write(t, filepath.Join(folder, "sizing.html"), "<!doctype html><html lang=en><title>sizing</title><main><h1>Sizing</h1>"+form+"</main></html>")
	tab := opened(t, chromium, "file://"+filepath.ToSlash(page))
	is := func(what, expression string) {
		t.Helper()
		testkit.Await(t, what, func() bool {
			yes, err := chromedp.Run(tab, chromedp.Evaluate[bool](expression))
			return err == nil && yes
		})
	}
	press := func(keys string) {
		t.Helper()
		if err := chromedp.Do(tab, chromedp.KeyEvent(keys)); err != nil {
			t.Fatal(err)
		}
	}
	cell := func(name, value string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('#sizing-form th')].some((th) => th.textContent === %q && th.nextSibling.textContent === %q)`, name, value)
	}
	is("the medium example", cell("memory of all owners", "7.8 GB")+" && "+cell("with one standby", "15.5 GB"))
	is("a label for each field", `[...document.querySelectorAll('#sizing-form input, #sizing-form select')].every((e) => e.labels.length === 1)`)

	press(kb.Tab) // to the users
	is("the focus is on the users", `document.activeElement.id === 'sizing-users'`)
	press(kb.Backspace) // the field is selected as a whole
	press("10000000")
	is("the pairs of ten million users", cell("pairs", "500,000,000"))
	is("a sentence for screen readers", `document.querySelector('[role=status]').textContent === '155.0 GB of memory, 11 nodes, 10 gateways'`)
	for range 4 {
		press(kb.Tab)
	}
	is("the focus is on the standbys", `document.activeElement.id === 'sizing-standbys'`)
	press(kb.Backspace)
	press("9")
	is("the number is refused", `document.activeElement.getAttribute('aria-invalid') === 'true' && document.querySelector('#sizing-form table').hidden
		&& document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent === 'a number from 0 to 5'
		&& document.querySelector('[role=status]').textContent.includes('out of range')`)
	press(kb.Backspace)
	press("2")
	is("two standbys", cell("with 2 standbys", "232.5 GB"))

	axe, err := servers.AxeScript(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(tab, chromedp.Evaluate[chromedp.Void](axe+`;axe.run(document).then((r) => { window.found = r.passes.length > 10 ? r.violations.map((v) => v.id + ': ' + v.nodes[0].html).join() || 'none' : 'too few rules' })`)); err != nil {
		t.Fatal(err)
	}
	is("axe is done", `window.found !== undefined`)
	if found, err := chromedp.Run(tab, chromedp.Evaluate[string](`window.found`)); err != nil || found != "none" {
		t.Errorf("axe finds %s, %v", found, err)
	}
}
