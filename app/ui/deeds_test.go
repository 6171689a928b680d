package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/authtest"
)

// TestDeadLettersInPages reads sixty letters of two reasons in pages, and replays all letters of
// one reason after a confirmation.
func TestDeadLettersInPages(t *testing.T) {
	s, b := town(t, dev.Config{})
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.stack.Broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	own := events.PartitionOf([]byte("general"), 4)
	var list []*kgo.Record
	for i := range 60 {
		r := &kgo.Record{Topic: events.TopicMessages, Partition: own, Key: []byte("general"), Value: []byte("{no event")}
		if i%2 == 1 {
			r.Partition, r.Value = (own+1)%4, fmt.Appendf(nil, `{"channel_id":"general","message_posted":{"message_id":"lost-%d","sender_id":"bob"}}`, i)
		}
		list = append(list, r)
	}
	if err := cl.ProduceSync(context.Background(), list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.turnToOperators()
	b.until("all are counted by reason", `document.querySelector('[data-reason=all] b')?.innerText === '60' && document.querySelector('[data-reason=undecodable] b').innerText === '30'`)
	rows := func(n int) string { return fmt.Sprintf(`document.querySelectorAll('[data-letter]').length === %d`, n) }
	b.until("a page", rows(25))
	b.click(`[data-page=older]`)
	b.until("the second page", `document.querySelector('[data-page=newer] + .note').innerText === 'page 2' && `+rows(25))
	b.click(`[data-page=older]`)
	b.until("the last page", rows(10)+` && document.querySelector('[data-page=older]').disabled`)
	b.shot("dead-letters-last-page")
	if bad := b.violations(); bad != "" {
		t.Errorf("axe, dead letters: %s", bad)
	}
	b.click(`[data-page=newer]`)
	b.until("the second page again", `document.querySelector('[data-page=newer] + .note').innerText === 'page 2'`)
	b.click(`[data-reason=wrong_partition]`)
	b.until("those of one reason", rows(25)+` && [...document.querySelectorAll('[data-letter] .reason')].every((e) => e.innerText === 'wrong_partition')`)
	b.do(chromedp.SendKeys(chromedp.CSS(".sieve"), "LOST-7\"", chromedp.NodeVisible))
	b.until("the letter with a text, and no button for letters that are not shown", rows(1)+` && document.querySelector('[data-letter]').innerText.includes('wrong_partition') && !document.querySelector('.replay-all')`)
	b.click(`[data-letter] button`)
	b.until("its value can be copied", `document.querySelector('dialog .copyable [aria-label^="Copy: {"]')`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.click(`[data-reason=undecodable]`)
	b.until("nothing of another reason has the text", `[...document.querySelectorAll('[aria-labelledby=h-dead] .empty')].some((e) => e.innerText === 'None of the reason undecodable with “LOST-7"”.')`)
	b.click(`[data-reason=wrong_partition]`)
	b.do(chromedp.SendKeys(chromedp.CSS(".sieve"), strings.Repeat(kb.Backspace, 7), chromedp.NodeVisible))
	b.until("those of one reason again", rows(25))
	b.click(`.replay-all`)
	b.until("it asks, and has written nothing", `document.querySelector('dialog[open]')?.innerText.includes('the dead letters of the reason wrong_partition (30)')`)
	b.shot("dead-letters-replay")
	if bad := b.violations(); bad != "" {
		t.Errorf("axe, the question: %s", bad)
	}
	b.click(`dialog .primary`)
	b.until("it says how many", `document.querySelector('dialog .done')?.innerText.startsWith('30 records written. They stay in this list')`)
	eval[bool](b, `(history.back(), true)`)
	b.until("Back closes it", `!document.querySelector('dialog[open]')`)
	b.click(`.tab[href="#"]`)
	b.unread(annLaptop, "general", 30)
}

// TestChartsHaveAxes: charts have a time range, and show values by hovering and by key.
func TestChartsHaveAxes(t *testing.T) {
	_, b := town(t, dev.Config{})
	b.turnToOperators()
	b.click(`[data-range=tab]`)
	tile := `.tile[aria-label="Events a second"]`
	axis := func(what string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('%s .%s span')].map((e) => e.innerText)`, tile, what)
	}
	b.until("an axis of values and one of time, with seconds", axis("ticks-y")+`.length === 3 && `+axis("ticks-y")+`[2] === '0' && `+axis("ticks-x")+`.every((text) => /^\d\d:\d\d:\d\d$/.test(text))`)
	b.until("a line", fmt.Sprintf(`document.querySelector('%s .stroke')`, tile))
	b.until("pointing at it tells a value and its time", fmt.Sprintf(`(() => {
		const plot = document.querySelector('%s .plot'), box = plot.getBoundingClientRect();
		plot.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: box.right - 2, clientY: box.top + 5 }));
		return /^[\d.,]+ \d\d:\d\d:\d\d$/.test(plot.querySelector('.tip')?.innerText); })()`, tile))
	b.shot("charts")
	b.click(`[data-range=hour]`)
	b.until("an hour ends now", axis("ticks-x")+`.every((text) => /^\d\d:\d\d$/.test(text))`)
	b.until("what the node remembers", fmt.Sprintf(`document.querySelector('%s .plot').getAttribute('aria-label').includes(' now, at most ')`, tile))
	eval[bool](b, fmt.Sprintf(`(document.querySelector('%s .plot').focus(), true)`, tile))
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.until("a key tells it to those who do not see it", `/^\d\d:\d\d: [\d.,]+$/.test(document.getElementById('status').innerText)`)
}

// TestVerifyAndSnapshotFromThePage: each asks for confirmation, shows its progress, and shows its
// command.
func TestVerifyAndSnapshotFromThePage(t *testing.T) {
	s, b := town(t, dev.Config{SnapshotEvery: time.Hour})
	b.turnToOperators()
	n := events.PartitionOf([]byte("random"), 4)
	b.click(fmt.Sprintf(`[data-verify="%d"]`, n))
	b.until("it asks, with the command", fmt.Sprintf(`document.querySelector('dialog[open] .primary') && document.querySelector('dialog pre').innerText.includes('tidemark verify --node %s ') && document.querySelector('dialog pre').innerText.endsWith('--partition %d')`, s.url, n))
	b.shot("verify")
	eval[bool](b, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`) // a background tab may not write to the clipboard
	b.click(`dialog .copy`)
	b.until("the command is copied", `window.copied === document.querySelector('dialog pre').innerText && document.getElementById('status').innerText === 'Copied'`)
	b.click(`dialog .primary`)
	b.until("no difference", `document.querySelector('dialog [data-differences="0"]') && document.querySelector('dialog .result').innerText.includes('No difference')`)
	if bad := b.violations(); bad != "" {
		t.Errorf("axe, verified: %s", bad)
	}
	b.shot("verified")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("its store has a cut", fmt.Sprintf(`document.querySelector('[data-partition="%d"] .digest')`, n))
	b.click(`[data-deed=snapshots]`)
	b.until("it asks", `document.querySelector('dialog[open] h2').innerText === 'Take snapshots now?' && !document.querySelector('dialog .evidence')`)
	b.click(`dialog .primary`)
	b.until("all are done", `document.querySelector('dialog .done')?.innerText === 'All partitions are done.' && document.querySelectorAll('dialog .evidence li').length === 4`)
	b.until("one was taken", fmt.Sprintf(`[...document.querySelectorAll('dialog .evidence li')].some((li) => li.innerText.replace(/\s+/g, ' ').startsWith('partition %d taken,'))`, n))
	b.shot("snapshots-taken")
	for body, want := range map[string]string{
		`{"partition":99}`: "partition 99 is not on this node", `{"no":1}`: "the body does not have the expected form",
	} {
		if _, message := s.post("/ui/api/verify", body); !strings.Contains(message, want) {
			t.Errorf("%s: %s", body, message)
		}
	}
}

// TestDeedsNeedTheScopeAdmin: on a node with keys, neither a reader nor a user may verify, take
// snapshots or replay dead letters.
func TestDeedsNeedTheScopeAdmin(t *testing.T) {
	s := newSite(t, dev.Config{Verifier: authtest.Verifier(t), SnapshotEvery: time.Hour})
	for token, want := range map[string]int{
		"": http.StatusUnauthorized, authtest.Token(t, "ann", time.Hour): http.StatusForbidden, authtest.Scoped(t, "op", "read"): http.StatusForbidden,
		authtest.Scoped(t, "op", "read admin"): http.StatusOK, authtest.Service(t): http.StatusOK,
	} {
		s.token = token
		for path, body := range map[string]string{"/ui/api/verify": `{"partition":0}`, "/ui/api/admin/snapshots": `{"partitions":[]}`} {
			if code, message := s.post(path, body); code != want {
				t.Errorf("%s with token %.8q: %d %s, want %d", path, token, code, message, want)
			}
		}
	}
}
