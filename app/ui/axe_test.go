package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

var axe = sync.OnceValues(func() (string, error) { return servers.AxeScript(context.Background()) })

// violations returns what axe-core finds on the page in its current state: all of its rules for
// WCAG 2.2 A and AA, including target sizes, and its best practices.
func (b *browser) violations() string {
	b.t.Helper()
	script, err := axe()
	if err != nil {
		b.t.Fatal(err)
	}
	if !eval[bool](b, `typeof axe === 'object'`) {
		eval[bool](b, script+";\ntrue")
	}
	eval[bool](b, `(window.found = undefined, axe.run(document, { rules: { 'target-size': { enabled: true } } }).then(
		(r) => { window.found = JSON.stringify({ checks: r.passes.length, bad: r.violations.map((v) => v.id + ' (' + v.impact + '): ' + v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + ' [' + n.target + '] ' + n.failureSummary.replace(/\s+/g, ' ').slice(0, 200)).join('\n    ') + (v.nodes.length > 4 ? '\n    and ' + (v.nodes.length - 4) + ' more' : '')) }); },
		(e) => { window.found = JSON.stringify({ checks: 0, bad: [String(e)] }); }), true)`)
	b.until("axe is done", `window.found`)
	var found struct {
		Checks int
		Bad    []string
	}
	if err := json.Unmarshal([]byte(eval[string](b, `window.found`)), &found); err != nil {
		b.t.Fatal(err)
	}
	if found.Checks < 10 {
		found.Bad = append(found.Bad, fmt.Sprintf("only %d rules found something to judge", found.Checks))
	}
	return strings.Join(found.Bad, "\n  ")
}

// TestAxe: axe-core finds nothing in both views and in the dialogs over them, at desktop and phone
// size, light and dark.
func TestAxe(t *testing.T) {
	s, b := lively(t)
	s.publish(`{"read":{"channel_id":"dm:ann:bob","user_id":"ann","channel_muted":{"muted":true}}}`)
	b.until("a muted channel", fmt.Sprintf(`document.querySelector('%s .row.muted .count')`, annLaptop))
	b.openChannel(bobLaptop, "general")
	judge := func(what string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			if bad := b.violations(); bad != "" {
				b.shot("axe-" + strings.ReplaceAll(what, " ", "-"))
				t.Errorf("%s, %s:\n  %s", what, scheme, bad)
			}
		}
	}
	judge("people")
	b.click(annLaptop + ` .row:has([data-channel=general]) .count`)
	b.until("an explanation", `document.querySelector('dialog[open] .evidence')`)
	judge("explanation")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.find("g4", "thank you")
	b.heading("Who has it")
	judge("a message")
	b.click("dialog .evidence .link")
	b.until("a user", `document.querySelector('dialog .who-is')`)
	judge("a user")
	b.click("dialog .evidence .link")
	b.until("a channel", `document.querySelector('dialog .pairs')`)
	judge("a channel")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.slash()
	b.do(chromedp.SendKeys(chromedp.CSS(".find"), "ann", chromedp.NodeVisible))
	b.until("something is found", `document.querySelectorAll('.found').length > 1`)
	judge("search")
	b.turnToOperators()
	judge("operators")
	b.do(chromedp.Navigate(s.url+everyone), chromedp.EmulateViewport(390, 844))
	b.unread(annLaptop, "general", 1)
	judge("people on a phone")
}
