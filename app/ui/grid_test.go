package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/app/dev"
)

// ticksCollide lists the charts whose labels of the time axis overlap or leave their tile.
const ticksCollide = `[...document.querySelectorAll('.tile')].filter((tile) => {
	const boxes = [...tile.querySelectorAll('.ticks-x span')].map((e) => e.getBoundingClientRect()).filter((r) => r.width);
	return boxes.some((r, i) => r.right > tile.getBoundingClientRect().right || i && r.left < boxes[i - 1].right + 2);
}).map((tile) => tile.ariaLabel).join('; ')`

// sideways lists the tables that are wider than their place.
const sideways = `[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText.slice(0, 40)).join('; ')`

// TestTablesSort: a column of the partitions sorts by its largest, by its smallest, and not at all,
// and the order holds when the numbers change.
func TestTablesSort(t *testing.T) {
	s, b := town(t, dev.Config{})
	var list []string
	for i := range 40 {
		list = append(list, posted("general", fmt.Sprintf("s%d", i), "bob", "one more"))
	}
	s.publish(list...)
	b.do(chromedp.Navigate(s.url + everyone + "#cluster"))
	const sums = `[...document.querySelectorAll('[data-all-partition] .position')].map((e) => [...e.children].reduce((n, x) => n + Number(x.textContent.replaceAll(',', '')), 0))`
	b.until("all partitions, some of them with records", sums+`.length === 4 && `+sums+`.some((n) => n > 40)`)
	order := func(what, sort string) {
		t.Helper()
		b.click(`[aria-labelledby=h-all-partitions] [data-sort=Position]`)
		b.until(what, fmt.Sprintf(`(() => { const is = %s; return is.join() === %s.join(); })()`, sums, sort))
	}
	state := func(want string) {
		t.Helper()
		b.until("the column says "+want, fmt.Sprintf(`(document.querySelector('[aria-labelledby=h-all-partitions] [aria-sort]')?.ariaSort ?? 'none') === %q`, want))
	}
	order("the smallest first", `is.toSorted((a, b) => a - b)`)
	state("ascending")
	order("the largest first", `is.toSorted((a, b) => b - a)`)
	state("descending")
	s.publish(posted("random", "r1", "bob", "a change"))
	b.until("it stays so", fmt.Sprintf(`(() => { const is = %s; return is.join() === is.toSorted((a, b) => b - a).join(); })()`, sums))
	if bad := b.violations(); bad != "" {
		t.Errorf("axe, sorted: %s", bad)
	}
	b.click(`[aria-labelledby=h-all-partitions] [data-sort=Position]`)
	b.until("by partition again", `[...document.querySelectorAll('[data-all-partition]')].map((e) => e.dataset.allPartition).join() === '0,1,2,3'`)
	state("none")
	b.click(`[aria-labelledby=h-all-partitions] [data-sort=Disk]`)
	state("descending") // a number begins with the largest
}

// TestTablesOnAPhone: no table must be moved sideways at 390 pixels, and each cell names its
// column.
func TestTablesOnAPhone(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.scheme("light")
	for _, view := range []string{"operators", "cluster"} {
		b.do(chromedp.EmulateViewport(390, 844), chromedp.Navigate(s.url+everyone+"&phone="+view+"#"+view))
		b.until("the partitions", `document.querySelectorAll('[data-partition] .state-live, [data-all-partition] .state-live').length === 4`)
		b.until("nothing moves sideways", sideways+` === ''`)
		labels := eval[string](b, `[...document.querySelectorAll('[data-partition="0"] > *, [data-all-partition="0"] > *')].map((e) => getComputedStyle(e, '::before').content.replaceAll('"', '')).join()`)
		if !strings.HasPrefix(labels, "Partition,State,Owner,") || strings.Contains(labels, "none") {
			t.Errorf("%s: the cells of a row say %s", view, labels)
		}
		b.shot("cards-" + view)
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			if bad := b.violations(); bad != "" {
				t.Errorf("axe, %s on a phone, %s: %s", view, scheme, bad)
			}
		}
	}
}

// TestKeysOfOperators: digits go to the views, the help explains the view that is shown, and a
// number leads to its list.
func TestKeysOfOperators(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(joined("general", "ann"))
	b.do(chromedp.KeyEvent("2"))
	b.until("operators", `location.hash === '#operators' && document.querySelectorAll('[data-partition] .state-live').length === 4`)
	b.do(chromedp.KeyEvent("?"))
	b.until("the help of this view", `/What the partition keeps in memory/.test(document.querySelector('dialog[open]')?.innerText) && !/mention this person/.test(document.querySelector('dialog').innerText)`)
	b.shot("help-operators")
	if bad := b.violations(); bad != "" {
		t.Errorf("axe, the help: %s", bad)
	}
	// The next key comes while the history still goes back.
	eval[bool](b, `(() => {
		const go = history.go;
		history.go = (n) => {
			history.go = go;
			go.call(history, n);
			document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '3', bubbles: true, cancelable: true }));
		};
		return true;
	})()`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("the help has gone", `!document.querySelector('dialog[open]')`)
	b.until("nodes", `location.hash === '#cluster' && document.querySelector('[data-node]')`)
	b.do(chromedp.KeyEvent("4"))
	b.until("compare", `location.hash === '#compare'`)
	// The search opens before the page hears that its fragment has changed.
	b.press("1/")
	b.until("people", `location.hash === '' && document.querySelector('.device')`)
	b.do(chromedp.SendKeys(chromedp.CSS(".find"), "2", chromedp.NodeVisible))
	b.until("a digit in a field is a text", `document.querySelector('.find').value === '2' && location.hash === ''`)
}

// TestChartsBeginWithTheNodesMemory: a tab that was opened just now shows the node's last ten
// minutes, if the node has run for so long that there is something to show.
func TestChartsBeginWithTheNodesMemory(t *testing.T) {
	_, b := town(t, dev.Config{})
	eval[bool](b, `(() => {
		const real = window.fetch;
		window.fetch = (url, ...more) => (String(url).includes('api/series')
			? Promise.resolve(new Response(JSON.stringify({ samples: Array.from({ length: 30 }, (_, i) => ({ at: Date.now() - (30 - i) * 10_000, events: i * 100, deltas: i * 150, lag: 0, publish: 0.001, dead: 0 })) }), { headers: { 'Content-Type': 'application/json' } }))
			: real(url, ...more));
		return true;
	})()`)
	b.turnToOperators()
	b.until("ten minutes with a line", `document.querySelector('[data-range=ten]')?.ariaPressed === 'true' && document.querySelector('.tile[aria-label="Events a second"] .stroke')`)
	b.click(`[data-range=tab]`)
	b.until("a choice stays", `document.querySelector('[data-range=tab]').ariaPressed === 'true'`)
}
