package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/app/dev"
)

// TestBackOnAPhone: Back closes the layer that was opened last, one at a time, and leaves the page
// only when nothing is open.
func TestBackOnAPhone(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(posted("general", "g1", "bob", "one"), posted("random", "r2", "cleo", "two"))
	b.do(chromedp.EmulateViewport(390, 844), chromedp.Navigate(s.url+"/?people=ann:phone"))
	b.unread(annPhone, "general", 1)
	shown := func(pane string) string {
		return fmt.Sprintf(`document.querySelector('%s.show-%s') && (history.state?.layers ?? 0) ===`, annPhone, pane)
	}
	back := func() { b.t.Helper(); eval[bool](b, `(history.back(), true)`) }
	b.until("the list is shown, and nothing to go back to", shown("list")+` 0`)

	b.openChannel(annPhone, "general")
	b.until("the messages are one step", shown("messages")+` 1`)
	b.click(annPhone + ` [data-id=g1] .tool[aria-label="Reply in thread"]`)
	b.until("the thread is another", fmt.Sprintf(`document.querySelector('%s .thread') && history.state.layers === 2`, annPhone))
	b.click(annPhone + ` .total`)
	b.until("a dialog is another", `document.querySelector('dialog[open]') && history.state.layers === 3`)

	back()
	b.until("the dialog is closed", `!document.querySelector('dialog[open]') && history.state.layers === 2`)
	back()
	b.until("the thread is closed", fmt.Sprintf(`!document.querySelector('%s .thread') && history.state.layers === 1`, annPhone))
	back()
	b.until("the list is shown again", shown("list")+` 0`)
	if at := eval[string](b, `location.pathname + location.search`); at != "/?people=ann:phone" {
		t.Errorf("the page is at %s", at)
	}

	// A layer that is closed on the page removes its entry of the history.
	b.openChannel(annPhone, "random")
	b.until("the messages are one step", shown("messages")+` 1`)
	b.click(annPhone + ` [aria-label="Back to the channels"]`)
	b.until("the list is shown, and its step is gone", shown("list")+` 0`)
	b.click(annPhone + ` .total`)
	b.until("a dialog", `document.querySelector('dialog[open]') && history.state.layers === 1`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("Escape takes it back", `!document.querySelector('dialog[open]') && (history.state?.layers ?? 0) === 0`)

	// Forward opens nothing again, and Back still works after it.
	eval[bool](b, `(history.forward(), true)`)
	b.until("what was closed stays closed", `!document.querySelector('dialog[open]')`)
	b.openChannel(annPhone, "general")
	b.until("the messages are one step", shown("messages")+` 1`)
	back()
	b.until("the list is shown again", shown("list")+` 0`)
}

// TestALayerOpenedWhileTheHistoryGoesBack: history.back() takes effect later; a layer that is
// opened meanwhile stays open and keeps its entry.
func TestALayerOpenedWhileTheHistoryGoesBack(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.do(chromedp.Navigate(s.url + "/?people=ann:phone"))
	b.unread(annPhone, "random", 1)
	eval[bool](b, `(import('/ui/layers.js').then(async ({ Layer }) => {
		const wait = (ms) => new Promise((done) => setTimeout(done, ms));
		const shut = [], first = new Layer(() => shut.push('first')), second = new Layer(() => shut.push('second'));
		first.opened();
		await wait(50);
		first.closed();
		await wait(0); // the history is asked to go back
		second.opened();
		await wait(300);
		window.layered = JSON.stringify({ shut, layers: history.state?.layers ?? 0 });
		history.back();
		await wait(300);
		window.layered += JSON.stringify({ shut, layers: history.state?.layers ?? 0 });
		window.done = true;
	}), true)`)
	b.until("both were open", `window.done`)
	if got, want := eval[string](b, `window.layered`), `{"shut":[],"layers":1}{"shut":["second"],"layers":0}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestALinkFollowedWhileTheHistoryGoesBack: the link leads to its target, and the closed layer
// leaves no entry.
func TestALinkFollowedWhileTheHistoryGoesBack(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.do(chromedp.Navigate(s.url + "/?people=ann:phone"))
	b.unread(annPhone, "random", 1)
	eval[bool](b, `(import('/ui/layers.js').then(async ({ Layer }) => {
		const wait = (ms) => new Promise((done) => setTimeout(done, ms));
		const first = new Layer(() => {});
		first.opened();
		await wait(50);
		first.closed();
		await wait(0); // the history is asked to go back
		document.querySelector('.tab[href="#operators"]').click();
		await wait(300);
		window.layered = JSON.stringify({ hash: location.hash, layers: history.state?.layers ?? 0 });
		history.back();
		await wait(300);
		window.layered += JSON.stringify({ hash: location.hash, layers: history.state?.layers ?? 0 });
		window.done = true;
	}), true)`)
	b.until("the link was followed", `window.done`)
	if got, want := eval[string](b, `window.layered`), `{"hash":"#operators","layers":0}{"hash":"","layers":0}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFourDevicesHaveTheirNames: beside three other devices a phone is narrow, but its name is
// shown in full.
func TestFourDevicesHaveTheirNames(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.do(chromedp.Navigate(s.url + "/?people=ann,bob,cleo,ann:phone"))
	b.unread(annPhone, "random", 1)
	b.until("four devices", `document.querySelectorAll('.device').length === 4`)
	cut := `[...document.querySelectorAll('.device-head h2, .device-head .kind')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText).join()`
	if got := eval[string](b, cut); got != "" {
		b.shot("four-devices")
		t.Errorf("cut off: %s", got)
	}
	b.shot("four-devices")
}
