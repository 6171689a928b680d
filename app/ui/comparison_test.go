package ui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/importer/compare"
)

// compared returns output of `tidemark compare --json`: 120 equal pairs, 60 that differ by policy,
// and one where the other product is wrong.
func compared(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	line := func(user string, theirs, ours int64, bucket compare.Bucket, reason string) {
		l := compare.Line{Pair: compare.Pair{User: user, Channel: "general"}, Theirs: compare.Numbers{Unread: theirs}, Ours: compare.Numbers{Unread: ours}, Bucket: bucket, Reason: reason}
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	for i := range 120 {
		line(fmt.Sprintf("same-%d", i), 3, 3, compare.Equal, "")
	}
	for i := range int64(60) {
		line(fmt.Sprintf("other-%d", i), i+2, 2, compare.ByPolicy, fmt.Sprintf("%d own messages after a mark", i))
	}
	line("ann", -1, 1, compare.TheirsWrong, "negative")
	b.WriteString("this is no line\n")
	return b.String()
}

// TestCompareView shows the histogram, the reasons and the lines of a pasted comparison, and an
// explanation of Tidemark's number.
func TestCompareView(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(posted("general", "g1", "bob", "one"))
	b.unread(annLaptop, "general", 1)
	b.click(`.tab[href="#compare"]`)
	b.until("it says what to give it", `document.querySelector('.copyable pre')?.innerText.includes('--json > compare.ndjson')`)
	judge := func(what string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			if bad := b.violations(); bad != "" {
				t.Errorf("axe, %s, %s: %s", what, scheme, bad)
			}
		}
	}
	judge("nothing compared")
	b.shot("compare-empty")
	paste := func(text string) {
		t.Helper()
		b.until("there is a field", `document.querySelector('[name=pasted]')`)
		quoted, _ := json.Marshal(text) //nolint:errchkjson // a string
		eval[bool](b, fmt.Sprintf(`(() => { const data = new DataTransfer(); data.setData('text', %s);
			document.querySelector('[name=pasted]').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); return true; })()`, quoted))
	}
	paste("nothing of it\n")
	b.until("what is none is refused in words", `document.querySelector('.trouble')?.innerText.includes('has no line of a comparison: 1 line could not be read')`)
	paste(compared(t))
	count := func(bucket string) string {
		return fmt.Sprintf(`document.querySelector('[data-bucket=%s] .figures b')?.innerText`, bucket)
	}
	b.until("the histogram", `document.getElementById('h-found')?.innerText === '181 numbers compared' && `+count("equal")+` === '120' && `+count("policy")+` === '60' && `+count("theirs_wrong")+` === '1' && `+count("moved")+` === '0'`)
	b.until("what could not be read is told", `document.querySelector('[aria-labelledby=h-found] .note').innerText.includes('1 line could not be read and is left out')`)
	b.until("the reasons, alike but for their numbers", `[...document.querySelectorAll('[aria-labelledby=h-reasons] tbody tr')].map((r) => r.innerText.replace(/\s+/g, ' ')).join('; ') === 'n own messages after a mark policy 60; negative theirs wrong 1'`)
	b.until("a page of lines", `document.querySelectorAll('[data-line]').length === 50`)
	judge("compared")
	b.shot("compare")
	b.do(chromedpPhone())
	b.until("the phone's layout fits", `document.documentElement.scrollWidth <= innerWidth`)
	judge("compared, on a phone")
	b.shot("compare-phone")
	b.do(chromedp.EmulateViewport(1440, 900))
	b.click(`[aria-labelledby=h-lines] .actions .chip:last-child`)
	b.until("the rest", `document.querySelectorAll('[data-line]').length === 11`)
	b.click(`[data-bucket=theirs_wrong]`)
	b.until("one line", `document.querySelectorAll('[data-line]').length === 1 && document.querySelector('[data-line=ann] .worse').innerText === '-1'`)
	b.click(`[data-line=ann] .chip`)
	b.until("why ours is 1", `document.querySelector('dialog[open] [data-unread="1"]') && document.querySelector('dialog .evidence').innerText.includes('one')`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.click(`[data-bucket=theirs_wrong]`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name=sieve]`), "other-59", chromedp.NodeVisible))
	b.until("those with a part of an id", `document.querySelectorAll('[data-line]').length === 1 && document.querySelector('[data-line=other-59]')`)

	b.click(`.card-head .chip`)
	paste("# HELP tidemark_compare_pairs Numbers of the last comparison, by bucket.\ntidemark_compare_pairs{bucket=\"equal\"} 7\ntidemark_compare_pairs{bucket=\"theirs_wrong\"} 2\ntidemark_compare_pairs_total{bucket=\"equal\"} 70\n")
	b.until("metrics have the histogram alone", count("equal")+` === '7' && `+count("theirs_wrong")+` === '2' && !document.querySelector('[data-line]') && document.querySelector('[aria-labelledby=h-found] .note').innerText.includes('Metrics have counts only')`)
}

// TestCompareTakesAFile: a file can be dropped on the view.
func TestCompareTakesAFile(t *testing.T) {
	s := newSite(t, dev.Config{})
	b := open(t, s.url+"/#compare", 1280, 800)
	quoted, _ := json.Marshal(compared(t)) //nolint:errchkjson // a string
	b.until("it is dropped", fmt.Sprintf(`(() => { const main = document.querySelector('main'); if (!main) return false; const data = new DataTransfer();
		data.items.add(new File([%s], 'compare.ndjson')); main.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); return true; })()`, quoted))
	b.until("its name and its numbers", `document.getElementById('h-found')?.innerText === '181 numbers compared' && document.querySelector('[aria-labelledby=h-found] .note').innerText.startsWith('compare.ndjson.')`)
}
