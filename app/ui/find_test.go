package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/authtest"
)

// press presses keys, all in one task of the page. Unlike a keyboard, chromedp types a character even
// if the page prevents it.
func (b *browser) press(keys string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`([...%q].forEach((key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))), true)`, keys))
}

func (b *browser) slash() {
	b.t.Helper()
	b.press("/")
}

// find types into the search and opens the first result.
func (b *browser) find(text, first string) {
	b.t.Helper()
	b.slash()
	b.until("the search has the focus", `document.activeElement?.matches('dialog[open] .find')`)
	b.do(chromedp.SendKeys(chromedp.CSS(".find"), text, chromedp.NodeVisible))
	b.until("it finds "+first, fmt.Sprintf(`document.querySelector('.found[aria-selected=true]')?.innerText.includes(%q)`, first))
	b.do(chromedp.KeyEvent(kb.Enter))
}

// heading waits for the dialog with this heading.
func (b *browser) heading(want string) {
	b.t.Helper()
	b.until("the dialog "+want, fmt.Sprintf(`document.querySelector('dialog[open] h2')?.innerText === %q`, want))
}

// TestSearchFindsWhatTheNodeKnows finds a user whom the page's list of people does not offer, a
// channel, and a message, with the token of the page. A dialog that opens from another dialog lies
// over it, and Back closes them one by one.
func TestSearchFindsWhatTheNodeKnows(t *testing.T) {
	s := newSite(t, dev.Config{Verifier: authtest.Verifier(t)})
	s.token = authtest.Service(t)
	var crowd []string
	for i := range 60 {
		crowd = append(crowd, fmt.Sprintf("guest-%02d", i))
	}
	s.publish(joined("general", "ann", "bob"), joined("random", "ann", "bob"), joined("crowd", append(crowd, "ann")...),
		posted("general", "g1", "bob", "shall we?"), posted("crowd", "c1", "ann", "welcome all"),
		`{"read":{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"g1"}}}`)
	b := open(t, s.url+"/?people=ann,bob", 1440, 900)
	b.do(chromedp.SendKeys(chromedp.CSS("input[name=token]"), s.token+"\r", chromedp.NodeVisible))
	b.unread(bobLaptop, "random", 0)

	b.find("guest-59", "Guest-59")
	b.heading("Guest-59")
	b.until("their channel with its number", `[...document.querySelectorAll('dialog .evidence li')].some((li) => li.innerText.includes('#crowd') && li.innerText.includes('1 unread'))`)
	b.shot("search-user")
	b.click(`dialog .evidence .last`)
	b.until("why it is so", `document.querySelector('dialog [data-unread="1"]') && /welcome all|c1/.test(document.querySelector('dialog .evidence')?.innerText)`)
	eval[bool](b, `(history.back(), true)`)
	b.heading("Guest-59")
	b.click(`dialog .evidence .link`)
	b.heading("#crowd")
	b.until("the head, and more members than a page", `document.querySelector('dialog .pairs').innerText.includes('61') && document.querySelectorAll('dialog .evidence li').length === 50`)
	b.click(`dialog .actions .chip`)
	b.until("all members", `document.querySelectorAll('dialog .evidence li').length === 61`)
	b.until("three steps to go back", `history.state.layers === 3`)
	eval[bool](b, `(history.back(), true)`)
	b.heading("Guest-59")
	eval[bool](b, `(history.back(), true)`)
	b.heading("Search")
	b.until("the search still has what was typed", `document.querySelector('.find').value === 'guest-59' && document.activeElement.matches('.find')`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("Escape closes all", `!document.querySelector('dialog[open]') && history.state.layers === 0`)

	b.find("g1", "shall we?")
	b.heading("Who has it")
	b.until("ann has read it", `document.querySelector('dialog .result')?.innerText === 'read · 1 of 1 read it'`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.find("general", "general")
	b.heading("#general")
	b.until("who has read how far", `[...document.querySelectorAll('dialog .evidence li')].some((li) => li.innerText.includes('Ann') && li.innerText.includes('#1'))`)
	b.do(chromedp.KeyEvent(kb.Escape))

	// The node has messages that the page does not remember: find one by its channel and id.
	b.find("crowd c1", "welcome all")
	b.heading("Who has it")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.slash()
	b.do(chromedp.SendKeys(chromedp.CSS(".find"), "nobody-at-all", chromedp.NodeVisible))
	b.until("nothing is found, and what to do", `document.querySelector('dialog [role=status]').innerText.includes('No user, channel or message is called nobody-at-all')`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("no channel has it", `document.querySelector('dialog [role=status]').innerText === 'No channel of the people on this page has a message nobody-at-all.'`)
	b.do(chromedp.KeyEvent(kb.Escape))

	// The page remembers the newest 300 messages of a channel; the node has earlier ones.
	long := []string{posted("random", "very-first", "bob", "where it began")}
	for i := range 300 {
		long = append(long, posted("random", fmt.Sprintf("later-%03d", i), "bob", "and on it goes"))
	}
	s.publish(long...)
	b.unread(bobLaptop, "random", 0)
	b.until("the page has the last of them", `(import('/ui/api.js').then((m) => m.own('search?q=later-299')).then((f) => { window.found = f.messages.length; }), window.found === 1)`)
	b.slash()
	b.do(chromedp.SendKeys(chromedp.CSS(".find"), "very-first", chromedp.NodeVisible))
	b.until("the page has forgotten it", `/Enter asks the [234] channels of the people on this page/.test(document.querySelector('dialog [role=status]').innerText)`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("its channel has it", `document.querySelector('.found')?.innerText.includes('very-first in random')`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.heading("Who has it")
	b.do(chromedp.KeyEvent(kb.Escape))

	b.find("guest-58", "Guest-58")
	b.heading("Guest-58")
	b.click(`dialog .primary`)
	b.until("their laptop is on the page", fmt.Sprintf(`!document.querySelector('dialog[open]') && document.querySelector('%s.online')`, device("guest-58", "laptop")))
	// It is the active device: its channel opens and, once its messages are visible, is read.
	b.until("their laptop shows the message", fmt.Sprintf(`document.querySelector('%s')?.innerText.includes('welcome all')`, device("guest-58", "laptop")))
	b.unread(device("guest-58", "laptop"), "crowd", 0)
}

// TestBackReturnsToTheChannelBefore: a channel that opens beside its list adds an entry to the
// history, and the other view adds another one.
func TestBackReturnsToTheChannelBefore(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(joined("third", "ann", "bob"))
	b.unread(annLaptop, "third", 0)
	b.openChannel(annLaptop, "general")
	at := eval[int](b, `history.state.layers`) // the page may already have added this entry when it opened
	b.openChannel(annLaptop, "third")
	b.until("one step", fmt.Sprintf(`history.state.layers === %d`, at+1))
	b.click(`.tab[href="#operators"]`)
	b.until("the other view", `document.querySelector('.operators')`)
	isOpen := func(channel string) {
		t.Helper()
		b.until(channel+" is open", fmt.Sprintf(`document.querySelector('%s .conversation > .messages[data-channel=%q]')`, annLaptop, channel))
	}
	eval[bool](b, `(history.back(), true)`)
	isOpen("third")
	eval[bool](b, `(history.back(), true)`)
	isOpen("general")
	b.until("the step is gone", fmt.Sprintf(`history.state.layers === %d && !location.hash`, at))
}

// TestTheStripOfHelpStaysClosed: the strip stays closed after a user has closed it.
func TestTheStripOfHelpStaysClosed(t *testing.T) {
	_, b := town(t, dev.Config{})
	b.until("it says what one looks at", `document.querySelector('.strip')?.innerText.includes('Click a channel to read it. Click a number to see why.')`)
	b.click(`.strip .link`)
	b.heading("Keys and signs")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.click(`.strip .plain`)
	b.until("it is closed", `!document.querySelector('.strip')`)
	b.do(chromedp.Reload())
	b.unread(annLaptop, "random", 1)
	if eval[bool](b, `!!document.querySelector('.strip')`) {
		t.Error("it is there again")
	}
}
