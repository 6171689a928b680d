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
)

const everyone = "/?people=ann,bob,ann:phone"

var (
	annLaptop = device("ann", "laptop")
	annPhone  = device("ann", "phone")
	bobLaptop = device("bob", "laptop")
)

// town returns a site with two channels and two users, and a page with three devices.
func town(t *testing.T, c dev.Config) (*site, *browser) {
	t.Helper()
	s := newSite(t, c)
	s.publish(joined("general", "ann", "bob"), joined("random", "ann", "bob", "cleo"), posted("random", "r1", "cleo", "first words"))
	b := open(t, s.url+everyone, 1440, 900)
	for _, d := range []string{annLaptop, annPhone, bobLaptop} {
		b.unread(d, "random", 1)
		b.unread(d, "general", 0)
	}
	return s, b
}

func TestWhatOneDeviceReadsAnotherFollows(t *testing.T) {
	_, b := town(t, dev.Config{})
	b.openChannel(bobLaptop, "general")
	b.postAs(bobLaptop, "hello @ann")
	b.unread(annLaptop, "general", 1)
	b.unread(annPhone, "general", 1)
	b.total(annPhone, 2)
	b.until("a mention is shown as one", fmt.Sprintf(`document.querySelector('%s .row:has([data-channel=general]) .count.mention')`, annPhone))
	b.until("a sent message has a tick", fmt.Sprintf(`document.querySelector('%s .message.own .ticks')`, bobLaptop))
	b.shot("two-people-and-a-third-device")

	b.openChannel(annLaptop, "general")
	b.unread(annLaptop, "general", 0)
	b.unread(annPhone, "general", 0)
	b.total(annPhone, 1)
	b.until("the sender sees that it was read", fmt.Sprintf(`document.querySelector('%s .ticks.read')`, bobLaptop))
	b.until("and by whom", fmt.Sprintf(`document.querySelector('%s .read-by')?.dataset.names === 'Ann'`, bobLaptop))
	b.until("the unread line stays where reading had stopped", fmt.Sprintf(`document.querySelector('%s .line + .message')?.innerText.includes('hello')`, annLaptop))

	// Bob posts again: Bob's laptop is in use, so Ann's laptop no longer reads.
	b.postAs(bobLaptop, "one more")
	b.unread(annLaptop, "general", 1)
	b.click(annLaptop + " .messages")
	b.unread(annPhone, "general", 0)
}

func TestMarkUnreadStays(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(posted("general", "g1", "bob", "one"), posted("general", "g2", "bob", "two"), posted("general", "g3", "bob", "three"))
	b.unread(annLaptop, "general", 3)
	b.openChannel(annLaptop, "general")
	b.unread(annPhone, "general", 0)

	b.do(chromedp.Focus(chromedp.CSS(annLaptop + ` [data-id=g2] .tool[aria-label^="Mark unread"]`)))
	b.click(annLaptop + ` [data-id=g2] .tool[aria-label^="Mark unread"]`)
	b.unread(annLaptop, "general", 2)
	b.unread(annPhone, "general", 2)
	b.until("the line is above it", fmt.Sprintf(`document.querySelector('%s .line + .message')?.dataset.id === 'g2'`, annLaptop))
	// The channel is open on Ann's device, but not in use, so a new message is not read.
	s.publish(posted("general", "g4", "bob", "four"))
	b.unread(annPhone, "general", 3)
	b.shot("marked-unread")
	b.click(annLaptop + ` .banner.shown .chip:last-child`)
	b.unread(annLaptop, "general", 0)
	b.unread(annPhone, "general", 0)
}

func TestOfflineAndBack(t *testing.T) {
	_, b := town(t, dev.Config{})
	b.openChannel(annLaptop, "general")
	b.click(bobLaptop + " .switch")
	b.until("it says so", fmt.Sprintf(`document.querySelector('%s.offline .state')?.innerText === 'offline'`, bobLaptop))
	b.postAs(annLaptop, "are you there?")
	b.until("it is sent, and no more", fmt.Sprintf(`document.querySelector('%s .message.own .ticks.sent')`, annLaptop))
	b.postAs(annLaptop, "later then")
	b.until("both are on the screen", fmt.Sprintf(`document.querySelectorAll('%s .message.own').length === 2`, annLaptop))
	b.unread(bobLaptop, "general", 0) // the page shows the old numbers and says that they are old
	b.shot("offline")
	b.click(bobLaptop + " .switch")
	b.unread(bobLaptop, "general", 2)
	away := fmt.Sprintf(`document.querySelector('%s .row:has([data-channel=general]) .count.away')`, bobLaptop)
	b.until("both came while bob was offline", away+`?.textContent === '2' && `+away+`.getAttribute('aria-label').includes('while offline')`)
	b.shot("back-online")
	b.openChannel(bobLaptop, "general")
	b.unread(bobLaptop, "general", 0)
	b.until("and are no more", `!`+away)
	b.until("Ann sees that both were read", fmt.Sprintf(`document.querySelectorAll('%s .ticks.read').length === 2`, annLaptop))
}

func TestTheNodeIsRestartedUnderThePage(t *testing.T) {
	s, b := town(t, dev.Config{DataDir: t.TempDir()})
	b.openChannel(bobLaptop, "general")
	b.postAs(bobLaptop, "before")
	b.unread(annPhone, "general", 1)
	s.stop()
	b.until("each device says that it is not connected", `document.querySelectorAll('.device.connecting .state').length === 3`)
	b.unread(annPhone, "general", 1) // the old numbers stay
	b.shot("node-is-down")
	s.start()
	b.until("all are back", `document.querySelectorAll('.device.online').length === 3`)
	b.unread(annPhone, "general", 1)
	b.postAs(bobLaptop, "after")
	b.unread(annPhone, "general", 2)
	b.openChannel(annLaptop, "general")
	b.unread(annPhone, "general", 0)
}

func TestEveryNumberIsExplained(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(posted("general", "g1", "bob", "one"), posted("general", "g2", "ann", "mine"), posted("general", "g3", "bob", "three"),
		posted("general", "g4", "bob", "four"), `{"message":{"channel_id":"general","message_deleted":{"message_id":"g3"}}}`)
	b.unread(annLaptop, "general", 1)
	b.click(annLaptop + ` .row:has([data-channel=general]) .count`)
	b.until("the number and its message", `document.querySelector('dialog[open] [data-unread="1"]') && document.querySelector('dialog .evidence').innerText.includes('four')`)
	b.until("what does not count", `document.querySelector('dialog .sum').innerText.includes('deleted')`)
	b.shot("explained")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("Escape closes it", `!document.querySelector('dialog').open`)
	b.click(annLaptop + ` .total`)
	b.until("the badge is the sum of its parts", `document.querySelector('dialog[open] .sum .all td').innerText === '2'`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.click(annLaptop + ` [aria-label="Mark all read"]`)
	b.total(annLaptop, 0)
	b.total(annPhone, 0)
}

func TestMuteTakesAChannelOutOfTheBadge(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.openChannel(annPhone, "general")
	b.click(annPhone + ` [aria-label="Mute general"]`)
	b.until("the laptop shows it as muted", fmt.Sprintf(`document.querySelector('%s .row.muted [data-channel=general]')`, annLaptop))
	b.openChannel(bobLaptop, "general") // so that no device of Ann's is in use
	s.publish(posted("general", "g1", "bob", "noise"))
	b.unread(annLaptop, "general", 1)
	b.total(annLaptop, 1) // only the number of random
	b.click(annLaptop + ` .total`)
	b.until("the sum says what it leaves out", `document.querySelector('dialog[open] .left-out')?.innerText.includes('muted: left out')`)
	b.shot("badge-with-a-muted-channel")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.click(annPhone + ` [aria-label="Unmute general"]`)
	b.until("it counts again", fmt.Sprintf(`!document.querySelector('%s .row.muted')`, annLaptop))
}

// lively returns a site with an example of everything: threads, mentions, receipts, a muted
// channel, long names and texts.
func lively(t *testing.T) (*site, *browser) {
	t.Helper()
	s, b := town(t, dev.Config{})
	s.publish(joined("dm:ann:bob", "ann", "bob"), joined("a-channel-with-quite-a-long-name", "ann", "bob", "cleo"),
		posted("general", "g1", "bob", "the build is red again, and nobody knows why it is: has anybody looked at the logs of this morning?"),
		posted("general", "g2", "cleo", "I have"), posted("general", "g3", "cleo", "it is the cache"), posted("general", "g4", "ann", "thank you"),
		posted("dm:ann:bob", "d1", "bob", "lunch?"), posted("a-channel-with-quite-a-long-name", "a1", "cleo", "averylongwordthatdoesnotbreakanywhere"+strings.Repeat("x", 60)),
		`{"message":{"channel_id":"general","message_posted":{"message_id":"g5","sender_id":"bob","preview":"@ann, can you have a look?","mentions":["ann"]}}}`,
		`{"message":{"channel_id":"general","message_posted":{"message_id":"t1","sender_id":"cleo","preview":"in a thread","thread_id":"g4"}}}`,
		`{"message":{"channel_id":"general","message_posted":{"message_id":"s1","sender_id":"cleo","preview":"cleo changed the topic","silent":true}}}`,
		`{"read":{"channel_id":"random","user_id":"bob","channel_muted":{"muted":true}}}`,
		`{"read":{"channel_id":"general","user_id":"cleo","read_up_to":{"message_id":"g5"}}}`)
	b.unread(annPhone, "dm:ann:bob", 1)
	b.unread(annPhone, "a-channel-with-quite-a-long-name", 1)
	return s, b
}

// cutOff lists the elements that extend past the right edge of their container: the window, which
// must not scroll sideways, and the parts of a device, where a long name must not push out the
// number beside it.
const cutOff = `(() => {
	const beyond = (within, e) => e.getClientRects().length && e.getBoundingClientRect().right > (within?.getBoundingClientRect().right ?? innerWidth) + 1;
	const bad = [...document.querySelectorAll('.top > *, dialog[open], dialog[open] .sheet > *, main > *')].filter((e) => beyond(undefined, e));
	for (const part of document.querySelectorAll('.device-head, .channels, .conversation-head, .banner.shown, .composer'))
		bad.push(...[...part.querySelectorAll('button, .count, .at, input')].filter((e) => beyond(part, e)));
	for (const name of document.querySelectorAll('.by b, .name h2, .row-name, .conversation-head h3'))
		if (beyond(name.parentElement, name) || name.nextElementSibling && beyond(name.closest('.message, .device-head, .row, .conversation-head'), name.nextElementSibling)) bad.push(name.textContent);
	return bad.map((e) => e.ariaLabel || e.className || e.tagName).join('; ');
})()`

// unnamed lists the devices whose name is not fully visible, neither in their head nor in the list
// above them.
const unnamed = `[...document.querySelectorAll('.device')].filter((d) => {
	const whole = (e) => e?.getClientRects().length && e.scrollWidth <= e.clientWidth && (innerWidth <= 640 || e.getBoundingClientRect().right <= innerWidth); // on a phone each device fills the window when one turns to it
	const above = [...document.querySelectorAll('.cast-tab')].filter((e) => e.getClientRects().length && e.getBoundingClientRect().right <= innerWidth).map((e) => e.ariaLabel.replace(', ', "'s "));
	return !whole(d.querySelector('.name h2')) && !above.includes(d.ariaLabel.replace(/, .*/, ''));
}).map((d) => d.ariaLabel).join('; ')`

// TestSizesAndColours takes pictures of both views, with dialogs, in windows of many sizes, light
// and dark; nothing may be wider than the window.
func TestSizesAndColours(t *testing.T) {
	s, b := lively(t)
	fits := func(what string, width int64) {
		t.Helper()
		if wide := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("at %d wide %s is %d pixels too wide", width, what, wide)
		}
		if out := eval[string](b, cutOff); out != "" {
			t.Errorf("at %d wide, %s: these are cut off: %s", width, what, out)
		}
	}
	for i, c := range []struct {
		width, height int64
		scheme        string
		keep          bool // take pictures
	}{
		{360, 640, "light", false}, {390, 844, "light", true}, {390, 844, "dark", true}, {1024, 768, "light", true}, {1024, 768, "dark", true}, {1280, 800, "light", true},
		{1440, 900, "light", true}, {1440, 900, "dark", true}, {1920, 1080, "dark", false},
	} {
		b.scheme(c.scheme)
		look := func(what string) {
			t.Helper()
			if c.keep {
				b.shot(fmt.Sprintf("size-%d-%s-%s", c.width, c.scheme, what))
			}
			fits(what, c.width)
		}
		// The address differs, so that the browser loads the page again.
		b.do(chromedp.EmulateViewport(c.width, c.height), chromedp.Navigate(fmt.Sprintf("%s%s&n=%d", s.url, everyone, i)))
		b.until("it is drawn", fmt.Sprintf(`document.querySelector('%s .row-open[data-channel=general]')`, annLaptop))
		look("people")
		named := func() {
			t.Helper()
			if short := eval[string](b, unnamed); short != "" {
				t.Errorf("at %d wide these are not named in full: %s", c.width, short)
			}
		}
		named()
		if c.width == 1280 { // more devices than fit
			for _, people := range []string{"ann,bob,cleo", "ann,bob,ann:phone,bob:phone"} {
				b.do(chromedp.Navigate(fmt.Sprintf("%s/?people=%s", s.url, people)))
				b.until("they are drawn", fmt.Sprintf(`document.querySelectorAll('.device.online').length === %d`, strings.Count(people, ",")+1))
				look("people-" + strings.NewReplacer(",", "-", ":", "-").Replace(people))
				named()
			}
			b.do(chromedp.Navigate(fmt.Sprintf("%s%s&n=%d", s.url, everyone, i)))
			b.until("it is drawn", fmt.Sprintf(`document.querySelector('%s .row-open[data-channel=general]')`, annLaptop))
		}
		b.openChannel(annLaptop, "general")
		b.until("its messages", fmt.Sprintf(`document.querySelector('%s [data-id=g5]')`, annLaptop))
		look("messages")
		b.click(annLaptop + ` .total`)
		b.until("the sum", `document.querySelector('dialog[open] .sum')`)
		look("dialog")
		b.turnToOperators()
		look("operators")
		if bad := eval[string](b, ticksCollide); bad != "" {
			t.Errorf("at %d wide the times below these charts collide: %s", c.width, bad)
		}
		b.click(`.tab[href="#cluster"]`)
		b.until("all partitions", `document.querySelectorAll('[data-all-partition]').length === 4`)
		look("nodes")
	}
}

func TestOperators(t *testing.T) {
	s, b := town(t, dev.Config{SnapshotEvery: 200 * time.Millisecond})
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.stack.Broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	own := events.PartitionOf([]byte("general"), 4)
	good := []byte(`{"channel_id":"general","message_posted":{"message_id":"lost","sender_id":"bob","preview":"was lost"}}`)
	if err := cl.ProduceSync(context.Background(),
		&kgo.Record{Topic: events.TopicMessages, Partition: own, Key: []byte("general"), Value: []byte("{no event")},
		&kgo.Record{Topic: events.TopicMessages, Partition: (own + 1) % 4, Key: []byte("general"), Value: good}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(s.url + everyone + "#operators"))
	b.until("four live partitions with their owner", `document.querySelectorAll('[data-partition] .state-live').length === 4 && [...document.querySelectorAll('.owner')].every((e) => e.innerText.includes('127.0.0.1'))`)
	b.until("positions that have moved", `[...document.querySelectorAll('.position')].some((e) => /[1-9]/.test(e.innerText))`)
	b.until("charts of what was read more than once", `document.querySelectorAll('.spark .stroke').length >= 3`)
	b.until("the median of publish, the same in its tile and in the table", `(() => {
		const tile = document.querySelector('[aria-label="Publish, median"] .figure')?.innerText;
		const row = [...document.querySelectorAll('[aria-labelledby=h-phases] tbody tr')].find((r) => r.querySelector('.phase-publish'));
		return /\d/.test(tile) && row?.cells[1].innerText === tile;
	})()`)
	b.until("snapshots with their digest, and how to check them", `document.querySelector('[data-snapshot] .digest')?.title.length >= 32 && document.querySelector('[aria-labelledby=h-verify]').innerText.includes('snapshot restore --snapshots file:///')`)
	b.until("both dead letters", `document.querySelectorAll('[data-letter]').length === 2`)
	b.click(`[data-list=letters]`)
	b.until("a number leads to its list", `document.activeElement.id === 'h-dead'`)
	b.shot("operators")
	b.click(`[data-reason=wrong_partition]`)
	b.until("the letters of one reason, and how to write them again", `document.querySelectorAll('[data-letter]').length === 1 && document.querySelector('[aria-labelledby=h-dead] pre').innerText.endsWith('--reason wrong_partition --dry-run')`)
	b.click(`[data-reason=all]`)
	b.until("all letters", `document.querySelectorAll('[data-letter]').length === 2`)
	b.do(chromedp.KeyEvent("?"))
	b.until("the help", `document.querySelector('dialog[open]')?.innerText.includes('A replay writes it to its topic again')`)
	b.shot("help")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("the help has gone", `!document.querySelector('dialog[open]')`)
	version := eval[string](b, `window.tidemark.operators.letters.page.version`)
	for had, status := range map[string]int{version: http.StatusNoContent, "another": http.StatusOK, "": http.StatusOK} {
		res, err := http.Get(s.url + "/ui/api/deadletters?version=" + had) //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("dead letters, having version %q of %q: %s, want %d", had, version, res.Status, status)
		}
	}

	look := func(reason string) {
		b.until("the row of "+reason, fmt.Sprintf(`[...document.querySelectorAll('[data-letter]')].find((r) => r.innerText.includes(%q))?.querySelector('button')?.click() ?? document.querySelector('dialog[open]')`, reason))
		b.until("its value", `document.querySelector('dialog[open] pre')`)
	}
	look("undecodable")
	if !eval[bool](b, `document.querySelector('dialog pre').innerText.includes('{no event') && document.querySelector('dialog .primary').disabled`) {
		b.fail("a bad value must be shown and must not be written again")
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	look("wrong_partition")
	b.shot("dead-letter")
	b.click("dialog .primary")
	b.until("it says where it is now", fmt.Sprintf(`document.querySelector('dialog .done')?.innerText.includes('chat.messages/%d/')`, own))
	b.do(chromedp.KeyEvent(kb.Escape))
	b.click(`.tab[href="#"]`)
	b.unread(annLaptop, "general", 1)
}
