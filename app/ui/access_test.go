package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/app/dev"
)

func TestByKeyboard(t *testing.T) {
	_, b := town(t, dev.Config{})
	active := `document.activeElement`
	b.do(chromedp.Focus(chromedp.CSS(annLaptop+` .row-open[tabindex="0"]`)), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.Enter))
	b.until("End and Enter open the last channel", fmt.Sprintf(`document.querySelector('%s .row:last-child.here') && %s.closest('.row.here')`, annLaptop, active))
	b.do(chromedp.KeyEvent(kb.Home))
	b.until("Home goes to the first", fmt.Sprintf(`%s === document.querySelector('%s .row-open')`, active, annLaptop))
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.until("right goes to its number", active+`.matches('.count') || !document.querySelector('.row .count')`)
	b.do(chromedp.KeyEvent("2", chromedp.KeyModifiers(1))) // Alt
	b.until("Alt+2 goes to the second device", fmt.Sprintf(`%s === document.querySelector('%s .say')`, active, bobLaptop))
}

// TestNamesForAllControls: every control has a name for screen readers, ids are unique, and lists
// contain only items.
func TestNamesForAllControls(t *testing.T) {
	s, b := town(t, dev.Config{})
	audit := `(() => {
		const bad = [];
		for (const el of document.querySelectorAll('button, a[href], input, select, [role=switch], [role=img], [role=region]')) {
			const name = el.getAttribute('aria-label') || el.getAttribute('aria-labelledby') || el.innerText?.trim() || el.textContent?.trim();
			if (!name) bad.push(el.outerHTML.slice(0, 120));
		}
		const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
		if (new Set(ids).size !== ids.length) bad.push('ids twice: ' + ids);
		for (const li of document.querySelectorAll('ul > :not(li), ol > :not(li)')) bad.push('in a list: ' + li.outerHTML.slice(0, 80));
		if (document.querySelectorAll('h1').length !== 1 || !document.querySelector('main') || !document.documentElement.lang) bad.push('no outline');
		return bad.join('\n');
	})()`
	for _, view := range []string{"", "#operators"} {
		b.do(chromedp.Navigate(s.url + everyone + view))
		if view == "" {
			b.openChannel(annLaptop, "random")
			b.until("messages", `document.querySelector('.message')`)
		} else {
			b.until("partitions", `document.querySelector('[data-partition]')`)
		}
		if bad := eval[string](b, audit); bad != "" {
			t.Errorf("%s: %s", view, bad)
		}
	}
}

// TestMessagesByKeyboard: a list of messages is one stop of the Tab key, the arrow keys move within
// it, and an element that a redraw moves keeps the focus.
func TestMessagesByKeyboard(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(posted("general", "g1", "bob", "one"), posted("general", "g2", "bob", "two"), posted("general", "g3", "bob", "three"))
	b.openChannel(annLaptop, "general")
	b.unread(annPhone, "general", 0)
	b.until("the messages", fmt.Sprintf(`document.querySelector('%s [data-id=g3]')`, annLaptop))
	if n := eval[int](b, fmt.Sprintf(`document.querySelectorAll('%s .message [tabindex="0"], %[1]s .message button:not([tabindex])').length`, annLaptop)); n != 0 {
		t.Errorf("%d stops of the Tab key in messages", n)
	}
	on := func(what, expression string) { b.t.Helper(); b.until(what, `document.activeElement`+expression) }
	b.do(chromedp.Focus(chromedp.CSS(annLaptop+" .messages")), chromedp.KeyEvent(kb.ArrowUp))
	on("up goes to the newest", `.dataset.id === 'g3'`)
	b.do(chromedp.KeyEvent(kb.ArrowUp))
	on("and on to the one before", `.dataset.id === 'g2'`)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	on("right goes to what can be done with it", `.matches('[data-id=g2] .tool[aria-label^="Mark unread"]')`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.unread(annPhone, "general", 2)
	b.do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.Home))
	on("Home goes to the oldest", `.dataset.id === 'g1'`)

	// Another channel becomes the newest and rows move: the focus stays on its row.
	b.do(chromedp.Focus(chromedp.CSS(annLaptop + ` .row-open[data-channel=random]`)))
	for i := range 2 {
		s.publish(posted("random", fmt.Sprintf("r%d", i+2), "cleo", "more"), posted("general", fmt.Sprintf("g%d", i+4), "bob", "more"))
		b.unread(annLaptop, "general", 3+i)
		b.unread(annLaptop, "random", 2+i)
		on("the row keeps the focus", `.dataset.channel === 'random'`)
	}
}

// contrast lists text with too little contrast: less than 4.5 to 1, large text 3 to 1 (WCAG 2.2,
// 1.4.3). Half-transparent text is measured as it looks.
const contrast = `(() => {
	const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
	const pixel = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
	const rgba = (colour) => {
		pixel.clearRect(0, 0, 1, 1);
		pixel.fillStyle = colour;
		pixel.fillRect(0, 0, 1, 1);
		const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
		return [r, g, b, a / 255];
	};
	const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
	const bad = new Set();
	let judged = 0;
	for (const e of document.querySelectorAll('body *')) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
		if (e.closest('option, .hidden-text, .skip, :disabled')) continue;
		const layers = [];
		let opacity = 1;
		for (let x = e; x; x = x.parentElement) {
			if (!layers.length || layers.at(-1)[3] < 1) layers.push(rgba(getComputedStyle(x).backgroundColor));
			opacity *= Number(getComputedStyle(x).opacity);
		}
		const behind = layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
		const style = getComputedStyle(e);
		const text = rgba(style.color);
		text[3] *= opacity;
		const [light, dark] = [luminance(over(text, behind)), luminance(behind)].sort((a, b) => b - a);
		const size = parseFloat(style.fontSize);
		const ratio = (light + 0.05) / (dark + 0.05);
		judged++;
		if (ratio < (size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5)) {
			bad.add(ratio.toFixed(2) + ': ' + e.tagName + '.' + e.className + ' ' + JSON.stringify(e.textContent.trim().slice(0, 20)));
		}
	}
	return judged < 20 ? 'only ' + judged + ' texts were found' : [...bad].join('\n');
})()`

// TestContrast: all text of both views can be read, light and dark.
func TestContrast(t *testing.T) {
	s, b := lively(t)
	s.publish(`{"read":{"channel_id":"dm:ann:bob","user_id":"ann","channel_muted":{"muted":true}}}`)
	b.until("a muted channel", fmt.Sprintf(`document.querySelector('%s .row.muted .count')`, annLaptop))
	b.openChannel(bobLaptop, "general")
	b.until("its messages", fmt.Sprintf(`document.querySelector('%s .called')`, bobLaptop))
	b.click(annPhone + " .switch")
	b.until("a device that is offline", fmt.Sprintf(`document.querySelector('%s.offline')`, annPhone))
	judge := func(what string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			if bad := eval[string](b, contrast); bad != "" {
				t.Errorf("%s, %s:\n%s", what, scheme, bad)
			}
		}
	}
	judge("people")
	b.click(annLaptop + ` .row:has([data-channel=general]) .count`)
	b.until("an explanation", `document.querySelector('dialog[open] .evidence')`)
	judge("explanation")
	b.turnToOperators()
	judge("operators")
}
