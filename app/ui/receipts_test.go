package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/app/dev"
)

// tick waits until a message shows a status to its sender: sent, delivered or read.
func (b *browser) tick(of, text, status string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%q is %s", text, status), fmt.Sprintf(
		`(() => { const m = [...document.querySelectorAll('%s .message.own')].find((m) => m.innerText.includes(%q));
			const t = m?.querySelector('.ticks'); return t?.classList.contains(%q) && t.getAttribute('aria-label') === %q; })()`,
		of, text, status, status))
}

// names waits until a message names its readers.
func (b *browser) names(of, text, list string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%q was read by %s", text, list), fmt.Sprintf(
		`[...document.querySelectorAll('%s .message.own')].find((m) => m.innerText.includes(%q))?.querySelector('.read-by')?.dataset.names === %q`,
		of, text, list))
}

// TestTicksAndReceipts: a message goes from sent to delivered to read, as the lowest status of all
// recipients. "Read by" names the readers, and its dialog shows the times, and who does not have
// the message yet.
func TestTicksAndReceipts(t *testing.T) {
	s := newSite(t, dev.Config{})
	s.publish(joined("general", "ann", "bob", "cleo"), joined("elsewhere", "ann", "bob", "cleo"), posted("elsewhere", "e1", "cleo", "look here"))
	b := open(t, s.url+"/?people=ann,bob,cleo", 1440, 900)
	cleo := device("cleo", "laptop")
	for _, d := range []string{annLaptop, bobLaptop, cleo} {
		b.until(d+" knows its channels", fmt.Sprintf(`document.querySelector('%s [data-channel=general]')`, d))
	}
	b.click(cleo + " .switch")
	b.until("Cleo is offline", fmt.Sprintf(`document.querySelector('%s.offline')`, cleo))
	b.openChannel(annLaptop, "general")
	b.postAs(annLaptop, "who is coming?")
	b.unread(bobLaptop, "general", 1)
	b.tick(annLaptop, "who is coming?", "sent") // Bob has received it, Cleo has not
	b.click(cleo + " .switch")
	b.unread(cleo, "general", 1)
	b.postAs(annLaptop, "at eight")
	b.tick(annLaptop, "at eight", "delivered")

	// Reading a message also reads earlier ones.
	b.openChannel(bobLaptop, "general")
	b.names(annLaptop, "at eight", "Bob")
	b.names(annLaptop, "who is coming?", "Bob")
	b.tick(annLaptop, "at eight", "delivered")
	readBy := fmt.Sprintf(`[...document.querySelectorAll('%s .message.own')].find((m) => m.innerText.includes('at eight')).querySelector('.read-by')`, annLaptop)
	b.until("names on hover", readBy+`.title === 'Read by Bob' && `+readBy+`.getAttribute('aria-label') === 'Read by 1: Bob'`)

	b.until("a click opens who has it", `(`+readBy+`.click(), true)`)
	section := func(label string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('dialog[open] h3')].find((h) => h.innerText === %q)?.nextElementSibling`, label)
	}
	b.until("one of two has read it", `document.querySelector('dialog[open] .result')?.innerText === 'delivered · 1 of 2 read it'`)
	b.until("Bob, and since when", section("Read by 1")+`?.innerText.includes('Bob') && `+section("Read by 1")+`.querySelector('time')?.innerText.length > 4`)
	b.until("Cleo has it", section("Delivered to 1")+`?.innerText.includes('Cleo')`)
	b.shot("receipts-dialog")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("Escape closes it", `!document.querySelector('dialog').open`)

	b.openChannel(cleo, "general")
	b.tick(annLaptop, "at eight", "read")
	b.tick(annLaptop, "who is coming?", "read")
	b.names(annLaptop, "at eight", "Bob and Cleo")
	b.shot("ticks")
}

// TestJumpToOldest: one click leads from the newest message of a long channel to the unread line,
// however far away.
func TestJumpToOldest(t *testing.T) {
	s, b := town(t, dev.Config{})
	var list []string
	for i := range 60 {
		list = append(list, posted("general", fmt.Sprintf("g%d", i+1), "bob", fmt.Sprintf("message %d", i+1)))
	}
	list = append(list, `{"read":{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"g5"}}}`)
	s.publish(list...)
	b.unread(annLaptop, "general", 55)
	b.openChannel(annLaptop, "general")
	inSight := func(id string) string {
		return fmt.Sprintf(`(() => { const box = document.querySelector('%s .messages').getBoundingClientRect();
			const r = document.querySelector('%s [data-id=%s]')?.getBoundingClientRect(); return r && r.bottom > box.top && r.top < box.bottom; })()`,
			annLaptop, annLaptop, id)
	}
	b.until("it opens at the line", fmt.Sprintf(`document.querySelector('%s .line + .message')?.dataset.id === 'g6' && `, annLaptop)+inSight("g6"))
	b.unread(annLaptop, "general", 55) // nothing is read before the end was visible
	b.until("she goes to the end, which reads all", fmt.Sprintf(`(() => { const m = document.querySelector('%s .messages'); m.scrollTop = m.scrollHeight; return true; })()`, annLaptop))
	b.unread(annPhone, "general", 0)

	// Mark a message far up as unread while the end is visible.
	b.until("marked unread from the 20th on", fmt.Sprintf(`(document.querySelector('%s [data-id=g20] .tool[aria-label^="Mark unread"]').click(), true)`, annLaptop))
	b.unread(annPhone, "general", 41)
	b.until("at the end", fmt.Sprintf(`(() => { const m = document.querySelector('%s .messages'); m.scrollTop = m.scrollHeight; return true; })()`, annLaptop))
	b.until("the line is out of sight", "!"+inSight("g20"))
	b.click(annLaptop + ` .banner.shown .chip`)
	b.until("the oldest unread is in sight", inSight("g20"))
	b.unread(annPhone, "general", 41)
	b.shot("oldest-unread")
}
