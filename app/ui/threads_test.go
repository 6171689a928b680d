package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tidemark/tidemark/app/dev"
)

// tool presses a button of a message, which is visible on hover and for the keyboard.
func (b *browser) tool(of, message, label string) {
	b.t.Helper()
	selector := fmt.Sprintf(`%s [data-id=%q] .tool[aria-label^=%q]`, of, message, label)
	b.do(chromedp.Focus(chromedp.CSS(selector), chromedp.NodeReady))
	b.click(selector)
}

// reply writes in the open thread.
func (b *browser) reply(of, text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(of+" .thread .say"), text+"\r", chromedp.NodeVisible))
}

// threadsUnread waits until the button of the threads panel shows a number; 0: none.
func (b *browser) threadsUnread(of string, n int) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s shows %d unread in threads", of, n),
		fmt.Sprintf(`(document.querySelector('%s .threads-button .pip')?.textContent ?? '0') === '%d'`, of, n))
}

// row is the row of a thread in the panel.
func row(of, thread string) string {
	return fmt.Sprintf(`%s .thread-rows [data-thread=%q]`, of, thread)
}

func TestThreads(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(posted("general", "root", "bob", "lunch at one?"), posted("general", "other", "bob", "it rains"))
	b.unread(annLaptop, "general", 2)
	b.openChannel(annLaptop, "general")
	b.unread(annLaptop, "general", 0)

	// Ann replies: both follow the thread, and for Bob the reply counts in the thread only.
	b.tool(annLaptop, "root", "Reply in thread")
	b.reply(annLaptop, "gladly")
	b.until("the reply is in the thread", fmt.Sprintf(`document.querySelector('%s .thread .messages').innerText.includes('gladly')`, annLaptop))
	b.until("who replies follows", fmt.Sprintf(`document.querySelector('%s .thread [aria-pressed=true]')?.innerText === 'Following'`, annLaptop))
	b.threadsUnread(bobLaptop, 1)
	b.threadsUnread(annPhone, 0)
	b.unread(bobLaptop, "general", 0)

	// Bob's panel shows the thread with its first message, and the number leads to the reply.
	b.click(bobLaptop + " .threads-button")
	here := row(bobLaptop, "root")
	b.until("the panel lists it", fmt.Sprintf(`document.querySelector('%s').innerText.includes('lunch at one?') && document.querySelector('%s .count').textContent === '1'`, here, here))
	b.until("with the last reply", fmt.Sprintf(`document.querySelector('%s .thread-last').innerText === 'Ann: gladly'`, here))
	b.shot("threads")
	b.click(here + " .count")
	b.until("the number is explained", `document.querySelector('dialog[open] [data-unread="1"]') && document.querySelector('dialog .evidence').innerText.includes('gladly')`)
	b.click(`dialog [aria-label="Close"]`)

	// Opening a thread reads it, but not its channel.
	b.click(here + " .thread-row")
	b.threadsUnread(bobLaptop, 0)
	b.reply(bobLaptop, "at the usual place")
	b.threadsUnread(annPhone, 1)
	b.until("the root says how many replies there are", fmt.Sprintf(`document.querySelector('%s [data-id=root] .replies').innerText === '2 replies'`, annLaptop))
	b.shot("thread")

	// Mark unread from the first reply on: all devices show it until the thread is opened again.
	first := eval[string](b, `window.tidemark.messages.channel('general').messages.find((m) => m.preview === 'gladly').message_id`)
	b.tool(bobLaptop+" .thread", first, "Mark unread")
	b.threadsUnread(bobLaptop, 1) // one of the two replies is Bob's own
	s.publish(`{"message":{"channel_id":"general","message_posted":{"message_id":"late","sender_id":"ann","preview":"see you","thread_id":"root"}}}`)
	b.threadsUnread(bobLaptop, 2)
	b.click(bobLaptop + ` .thread-head [aria-label="Close the thread"]`)
	b.click(bobLaptop + ` [data-id=root] .replies`)
	b.threadsUnread(bobLaptop, 0)

	// A user who unfollows gets no more updates until they follow again.
	follow := bobLaptop + " .thread [aria-pressed]"
	b.click(follow)
	b.until("bob follows no more", fmt.Sprintf(`document.querySelector('%s').ariaPressed === 'false'`, follow))
	b.click(bobLaptop + " .threads-button")
	b.until("it is not listed any more", fmt.Sprintf(`document.querySelector('%s .thread .empty') && !document.querySelector('%s')`, bobLaptop, here))
	b.click(bobLaptop + ` .row-open[data-channel=general]`)
	b.click(bobLaptop + ` [data-id=root] .replies`)
	b.click(follow)
	b.until("bob follows again", fmt.Sprintf(`document.querySelector('%s').ariaPressed === 'true'`, follow))
	b.click(bobLaptop + ` .row-open[data-channel=random]`)
	s.publish(`{"message":{"channel_id":"general","message_posted":{"message_id":"later","sender_id":"ann","preview":"where are you?","thread_id":"root"}}}`)
	b.threadsUnread(bobLaptop, 1)
}
