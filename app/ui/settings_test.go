package ui_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
)

// folds reports whether the node accepts a kind of events, or a field. The page offers exactly what
// the node accepts.
func folds(part string) bool { return !slices.Contains(events.Unfolded(), part) }

// offers runs a test of a control if the node accepts its events. If the node does not, the page
// must not have the control.
func (b *browser) offers(t *testing.T, part, control string, test func()) {
	t.Helper()
	t.Run(part, func(t *testing.T) {
		was := b.t
		b.t = t
		defer func() { b.t = was }()
		if folds(part) {
			test()
			return
		}
		b.until("the page knows what the node takes", `window.tidemark.about.unfolded.length > 0`)
		if eval[bool](b, fmt.Sprintf(`Boolean(document.querySelector(%q))`, control)) {
			t.Errorf("%s is offered, and the node refuses %s", control, part)
		}
	})
}

// settings opens the settings of a channel.
func (b *browser) settings(of, channel string) {
	b.t.Helper()
	if !eval[bool](b, fmt.Sprintf(`Boolean(document.querySelector('%s.show-messages .messages[data-channel=%q]'))`, of, channel)) {
		b.openChannel(of, channel)
	}
	b.click(fmt.Sprintf(`%s [aria-label="Settings of %s"]`, of, channel))
	b.until("the settings are open", `document.querySelector('dialog[open] .choices, dialog[open] .deeds')`)
}

// closed closes the dialog.
func (b *browser) closed() {
	b.t.Helper()
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("the dialog is closed", `!document.querySelector('dialog[open]')`)
}

// row waits until the row of a channel contains an element.
func (b *browser) row(what, of, channel, selector string) {
	b.t.Helper()
	b.until(what, fmt.Sprintf(`document.querySelector('%s .row:has([data-channel=%q])%s')`, of, channel, selector))
}

// choose sets a select and fires its change event.
func (b *browser) choose(selector, value string) {
	b.t.Helper()
	b.until(selector+" becomes "+value, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		if (!e) return false;
		e.value = %q;
		e.dispatchEvent(new Event('change', { bubbles: true }));
		return true;
	})()`, selector, value))
}

func calling(channel, id, sender, text, more string) string {
	return fmt.Sprintf(`{"message":{"channel_id":%q,"message_posted":{"message_id":%q,"sender_id":%q,"preview":%q,%s}}}`, channel, id, sender, text, more)
}

// TestLevelsOfAChannel sets all, mentions or nothing, permanently or for some time; another device
// and the badge follow.
func TestLevelsOfAChannel(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.offers(t, "notify_set", `dialog [name=level]`, func() {
		b.settings(annPhone, "general")
		b.click(`dialog [name=level][value=MENTIONS]`)
		b.row("mentions alone count", annLaptop, "general", `.quiet:not(.muted)`)
		b.closed()
		b.openChannel(bobLaptop, "general") // Ann's device is no longer in use
		s.publish(posted("general", "g1", "bob", "one"), calling("general", "g2", "bob", "@ann two", `"mentions":["ann"]`))
		b.unread(annLaptop, "general", 2)
		b.total(annLaptop, 2)
		b.click(annPhone + ` [aria-label="Settings of general"]`)
		b.choose(`dialog [name=span]`, "hour")
		b.until("for an hour", `document.querySelector('dialog .note')?.innerText === 'After that: mentions only.'`)
		b.click(`dialog [name=level][value=NONE]`)
		b.row("nothing counts, for as long", annLaptop, "general", `.muted .row-sign[title^="muted until"]`)
		b.total(annLaptop, 1)
		b.click(`dialog [name=ignore]`)
		b.choose(`dialog [name=span]`, "lasting")
		b.click(`dialog [name=level][value=ALL]`)
		b.row("all counts again", annLaptop, "general", `:not(.quiet)`)
		b.until("what is said of @all stays", `document.querySelector('dialog [name=ignore]').checked`)
		b.closed()
		b.click(bobLaptop + ` .conversation > .messages`)
		s.publish(calling("general", "g3", "bob", "@all three", `"mention_all":true`))
		b.until("it is unread and no mention", fmt.Sprintf(`document.querySelector('%s .row.unread:has([data-channel=general]) .count') && !document.querySelector('%[1]s .row .at.all')`, annPhone))
	})
}

// TestFlagOfAChannel: a channel without messages can be marked unread. The mark stays while the
// channel is open, and opening the channel again removes it.
func TestFlagOfAChannel(t *testing.T) {
	_, b := town(t, dev.Config{})
	b.offers(t, "flag_set", `[data-deed=flag]`, func() {
		b.settings(annLaptop, "general")
		b.click(`dialog [data-deed=flag]`)
		b.row("the phone shows the mark", annPhone, "general", `.flagged .row-flag`)
		b.closed()
		b.total(annPhone, 2)
		b.unread(annPhone, "general", 0)
		b.click(annLaptop + ` .conversation > .messages`)
		b.row("it stays while it is open", annLaptop, "general", `.flagged`)
		b.openChannel(annLaptop, "random")
		b.total(annPhone, 1)
		b.row("and while another one is", annPhone, "general", `.flagged`)
		b.openChannel(annLaptop, "general")
		b.row("who opens it has seen it", annPhone, "general", `:not(.flagged)`)
		b.total(annPhone, 0)
	})
}

// TestArchive: an archived channel counts in no number and is listed separately. The next message
// of another user restores it, unless it is kept archived.
func TestArchive(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.offers(t, "channel_filed", `[data-deed=file], .shelf`, func() {
		b.settings(annPhone, "random")
		b.click(`dialog [data-deed=file]`)
		b.until("it is in the list no more", fmt.Sprintf(`!document.querySelector('%s .row-open[data-channel=random]')`, annLaptop))
		b.total(annLaptop, 0)
		b.closed()
		b.click(annLaptop + ` .shelf`)
		b.row("it is listed apart", annLaptop, "random", "")
		b.shot("archived")
		s.publish(posted("random", "r2", "bob", "news"))
		b.until("news brings it back", fmt.Sprintf(`document.querySelector('%s .row-open[data-channel=random]') && !document.querySelector('%s .row')`, annPhone, annLaptop))
		b.total(annLaptop, 1)
		b.click(annLaptop + ` .shelf`)
		b.settings(annLaptop, "random")
		b.click(`dialog [data-deed=keep]`)
		b.closed()
		b.until("it is away again", fmt.Sprintf(`!document.querySelector('%s .row-open[data-channel=random]')`, annPhone))
		b.openChannel(bobLaptop, "general") // Ann's device is no longer in use
		s.publish(posted("random", "r3", "bob", "more"))
		b.until("it stays there with its news", fmt.Sprintf(`document.querySelector('%s .shelf')?.innerText.includes('1 of 1 unread') && !document.querySelector('%[1]s .row-open[data-channel=random]')`, annPhone))
		b.total(annPhone, 0)
		b.click(annPhone + ` [aria-label="Back to the channels"]`)
		b.click(annPhone + ` .shelf`)
		b.settings(annPhone, "random")
		b.click(`dialog [data-deed=file]`)
		b.row("it is taken out", annLaptop, "random", "")
		b.closed()
	})
}

// TestHiddenMessages: a message, and then all of a channel, is hidden from one user only.
func TestHiddenMessages(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.offers(t, "messages_hidden", `[data-deed=clear], [aria-label="Hide for you"]`, func() {
		s.publish(posted("general", "g1", "bob", "one"), posted("general", "g2", "bob", "two"), posted("general", "g3", "bob", "three"))
		b.unread(annPhone, "general", 3)
		b.openChannel(annPhone, "general")
		b.unread(annLaptop, "general", 0)
		b.click(annPhone + ` [data-id=g1] .tool[aria-label^="Mark unread"]`)
		b.unread(annLaptop, "general", 3)
		b.click(annPhone + ` [data-id=g2] .tool[aria-label="Hide for you"]`)
		b.unread(annLaptop, "general", 2)
		b.until("Ann does not see it, on no device", fmt.Sprintf(`!document.querySelector('%s [data-id=g2]')`, annPhone))
		b.openChannel(bobLaptop, "general")
		b.until("Bob does", fmt.Sprintf(`document.querySelector('%s [data-id=g2]')`, bobLaptop))
		b.settings(annPhone, "general")
		b.click(`dialog [data-deed=clear]`)
		b.unread(annLaptop, "general", 0)
		b.closed()
		b.until("nothing is left for Ann", fmt.Sprintf(`!document.querySelector('%s .message') && document.querySelectorAll('%s .message').length === 3`, annPhone, bobLaptop))
	})
}

// TestLabels: a user groups channels; each group has its badge and can be marked read at once.
func TestLabels(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.offers(t, "labels_set", `[name=label], .group`, func() {
		s.publish(posted("general", "g1", "bob", "one"), posted("general", "g2", "bob", "two"))
		b.unread(annLaptop, "general", 2)
		b.openChannel(bobLaptop, "general")
		b.settings(annPhone, "general")
		b.do(chromedp.SendKeys(chromedp.CSS(`dialog [name=label]`), "work\r", chromedp.NodeVisible))
		badge := func(label, n string) {
			t.Helper()
			b.until(label+" has the badge "+n, fmt.Sprintf(`(document.querySelector('%s .group[data-label="%s"] .pip')?.innerText ?? '0') === '%s' && document.querySelector('%[1]s .group[data-label="%[2]s"]')`, annLaptop, label, n))
		}
		b.closed()
		b.unread(annPhone, "general", 0) // it was opened before
		b.click(bobLaptop + ` .conversation > .messages`)
		s.publish(posted("general", "g3", "bob", "three"))
		b.unread(annLaptop, "general", 1)
		badge("work", "1")
		badge("", "2")
		b.click(annLaptop + ` .group[data-label=work]`)
		b.until("its channels alone are listed", fmt.Sprintf(`[...document.querySelectorAll('%s .row-open')].map((e) => e.dataset.channel).join() === 'general'`, annLaptop))
		b.click(annLaptop + ` [aria-label="Mark all read"]`)
		b.click(`dialog [data-read=work]`)
		badge("work", "0")
		badge("", "1")
		b.settings(annLaptop, "general")
		b.click(`dialog .chip[aria-pressed=true]`)
		b.until("no group is left", fmt.Sprintf(`!document.querySelector('%s .group')`, annLaptop))
		b.closed()
	})
}

// TestMentionsApart: mentions by name and mentions of everybody have different signs, and one link
// leads to the first of them.
func TestMentionsApart(t *testing.T) {
	s, b := town(t, dev.Config{})
	var list []string
	more := func(n int) {
		for range n {
			list = append(list, posted("general", fmt.Sprintf("h%d", len(list)), "bob", "and on"))
		}
	}
	more(40)
	list = append(list, calling("general", "g1", "bob", "@all one", `"mention_all":true`), calling("general", "g2", "bob", "@ann two", `"mentions":["ann"]`))
	more(40)
	s.publish(list...)
	b.unread(annLaptop, "general", 82)
	b.until("two signs", fmt.Sprintf(`document.querySelector('%s .row:has([data-channel=general]) .at:not(.all)')?.innerText === '@' && document.querySelector('%[1]s .row .at.all')?.innerText === '@all'`, annLaptop))
	b.until("for those who do not see them, too", fmt.Sprintf(`document.querySelector('%s [data-channel=general]').ariaLabel.includes('1 mention of you, 1 mention of everybody')`, annLaptop))
	b.openChannel(annPhone, "general")
	sight := fmt.Sprintf(`(() => {
		const list = document.querySelector('%s .conversation > .messages').getBoundingClientRect(), m = document.querySelector('%[1]s [data-id=g1].called-all + [data-id=g2].called-me').getBoundingClientRect();
		return m.top >= list.top && m.bottom <= list.bottom;
	})()`, annPhone)
	b.until("reading begins above them", fmt.Sprintf(`document.querySelector('%s .line + [data-id=h0]')`, annPhone))
	if eval[bool](b, sight) {
		t.Fatal("the mentions are in sight by themselves")
	}
	b.click(annPhone + ` .banner.shown [aria-label="First mention"]`)
	b.until("both mentions are in sight, set apart", sight)
	b.unread(annLaptop, "general", 82) // the jump read nothing
}

// TestPlayed: the sender of a voice message sees who has played it, not only who has read it.
func TestPlayed(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(posted("general", "v1", "bob", "🎤 0:12"))
	b.unread(annPhone, "general", 1)
	b.offers(t, "messages_viewed", `[aria-pressed]:has(+ .played), .played`, func() {
		b.openChannel(bobLaptop, "general")
		b.openChannel(annPhone, "general")
		b.unread(annLaptop, "general", 0)
		b.until("read is not played", fmt.Sprintf(`document.querySelector('%s [data-id=v1] .ticks.read') && !document.querySelector('%[1]s .played')`, bobLaptop))
		b.click(annPhone + ` [data-id=v1] .foot .chip`)
		b.until("Bob sees it", fmt.Sprintf(`document.querySelector('%s [data-id=v1] .played')?.innerText === 'Played by 1'`, bobLaptop))
		b.click(bobLaptop + ` [data-id=v1] .played`)
		b.until("and since when", `[...document.querySelectorAll('dialog h3')].some((e) => e.innerText === 'Played by 1') && document.querySelector('dialog .result').innerText.includes('1 played it')`)
		b.closed()
	})
}

// TestALineOfOnesOwn: a user's own line marks a place on all of their devices and changes no count.
func TestALineOfOnesOwn(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.offers(t, "line_set", `[aria-label="Put your line here"]`, func() {
		s.publish(posted("general", "g1", "bob", "one"), posted("general", "g2", "bob", "two"))
		b.openChannel(bobLaptop, "general")
		b.openChannel(annPhone, "general")
		b.openChannel(annLaptop, "general")
		b.unread(annPhone, "general", 0)
		b.click(annPhone + ` [data-id=g1] .tool[aria-label="Put your line here"]`)
		b.until("it is below the message", fmt.Sprintf(`document.querySelector('%s [data-id=g1] + .line.mine')`, annLaptop))
		b.total(annLaptop, 1) // the number of random
		b.until("Bob has none", fmt.Sprintf(`!document.querySelector('%s .line.mine')`, bobLaptop))
		b.click(annLaptop + ` [aria-label="Go to your line"]`)
	})
}

// TestAllReadWithItsThreads: "mark all read" includes the threads if the user chooses so.
func TestAllReadWithItsThreads(t *testing.T) {
	s, b := town(t, dev.Config{})
	b.offers(t, "with_threads", `dialog [name=threads], [data-deed=threads]`, func() {
		b.openChannel(bobLaptop, "general")
		s.publish(posted("general", "g1", "ann", "root"), calling("general", "t1", "bob", "a reply", `"thread_id":"g1"`))
		pip := fmt.Sprintf(`document.querySelector('%s .threads-button .pip')`, annPhone)
		b.until("the thread has something unread", pip+`?.innerText === '1'`)
		b.click(annLaptop + ` [aria-label="Mark all read"]`)
		b.click(`dialog [data-read=""]`)
		b.total(annPhone, 1)
		b.until("the thread was left alone", pip)
		b.click(annLaptop + ` [aria-label="Mark all read"]`)
		b.click(`dialog [name=threads]`)
		b.click(`dialog [data-read=""]`)
		b.until("the thread is read", `!`+pip)
		b.total(annPhone, 0)
	})
}
