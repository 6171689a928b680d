package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tidemark/tidemark/app/dev"
)

// scene returns a site with every setting of a channel that the node accepts, and Ann's and Bob's
// devices.
func scene(t *testing.T) (*site, *browser) {
	t.Helper()
	s := newSite(t, dev.Config{})
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	setting := func(part, user, channel, kind string) {
		if folds(part) {
			s.publish(fmt.Sprintf(`{"read":{"channel_id":%q,"user_id":%q,%s}}`, channel, user, kind))
		}
	}
	for _, c := range []string{"general", "design", "incident-7", "choir", "news", "old-project", "book-club"} {
		s.publish(joined(c, "ann", "bob", "cleo"))
	}
	s.publish(joined("dm:ann:bob", "ann", "bob"))
	for _, c := range []struct{ channel, label string }{{"general", "work"}, {"design", "work"}, {"incident-7", "work"}, {"choir", "home"}, {"dm:ann:bob", "home"}} {
		setting("labels_set", "ann", c.channel, `"labels_set":{"labels":["`+c.label+`"]}`)
	}
	s.publish(
		posted("general", "g1", "bob", "the release is out"), posted("general", "g2", "cleo", "the graphs look calm"), posted("general", "g3", "bob", "as they should"),
		posted("design", "d1", "cleo", "new colours are in"), posted("design", "d2", "cleo", "tell me what you think"),
		calling("incident-7", "i1", "bob", "@ann, node three is slow", `"mentions":["ann"]`), posted("incident-7", "i2", "bob", "restarting it"),
		posted("choir", "c1", "ann", "🎤 0:41 second voice, bar 12"), posted("choir", "c2", "cleo", "lovely"),
		posted("news", "n1", "cleo", "weekly digest"), posted("old-project", "o1", "bob", "closing this one"), posted("book-club", "b1", "bob", "chapter four next week"),
		posted("dm:ann:bob", "p1", "bob", "🎤 0:12"),
	)
	read := func(user, channel, id string) string {
		return fmt.Sprintf(`{"read":{"channel_id":%q,"user_id":%q,"read_up_to":{"message_id":%q}}}`, channel, user, id)
	}
	s.publish(read("ann", "general", "g3"), read("ann", "choir", "c2"), read("ann", "old-project", "o1"), read("ann", "book-club", "b1"), read("bob", "choir", "c2"), read("cleo", "choir", "c1"))
	setting("line_set", "ann", "general", `"line_set":{"message_id":"g1"}`)
	setting("notify_set", "ann", "incident-7", `"notify_set":{"level":"MENTIONS"}`)
	setting("notify_set", "ann", "news", `"notify_set":{"level":"NONE","until":"`+until+`"}`)
	setting("channel_filed", "ann", "old-project", `"channel_filed":{"archived":true,"keep":true,"head_seq":1}`)
	setting("channel_filed", "ann", "book-club", `"channel_filed":{"archived":true,"head_seq":1}`)
	setting("flag_set", "ann", "choir", `"flag_set":{"flagged":true,"head_seq":2}`)
	setting("messages_viewed", "bob", "choir", `"messages_viewed":{"message_ids":["c1"]}`)
	s.publish(posted("old-project", "o2", "bob", "one last thing"),
		calling("general", "g4", "cleo", "@all the demo is at four", `"mention_all":true`), calling("general", "g5", "bob", "@ann, do you show the badge?", `"mentions":["ann"]`))
	b := open(t, s.url+"/?people=ann,bob", 1440, 900)
	b.unread(annLaptop, "general", 2)
	b.unread(annLaptop, "dm:ann:bob", 1)
	return s, b
}

// TestPicturesOfWhatIsSaid takes a picture of each setting at desktop and phone size, light and
// dark. axe finds nothing in any of them, all text has enough contrast, and nothing is wider than
// the window.
func TestPicturesOfWhatIsSaid(t *testing.T) {
	for _, c := range []struct {
		name          string
		width, height int64
	}{{"desk", 1440, 900}, {"phone", 390, 844}} {
		phone := c.name == "phone"
		s, b := scene(t)
		b.do(chromedp.EmulateViewport(c.width, c.height), chromedp.Navigate(fmt.Sprintf("%s/?people=ann,bob&on=%s", s.url, c.name)))
		b.until("it is drawn", fmt.Sprintf(`document.querySelector('%s .row-open[data-channel=general]')`, annLaptop))
		look := func(what string) {
			t.Helper()
			for _, scheme := range []string{"light", "dark"} {
				b.scheme(scheme)
				b.shot(fmt.Sprintf("said-%s-%s-%s", c.name, scheme, what))
				if bad := b.violations(); bad != "" {
					t.Errorf("%s, %s, %s:\n  %s", c.name, scheme, what, bad)
				}
				if bad := eval[string](b, contrast); bad != "" && !strings.HasPrefix(bad, "only") {
					t.Errorf("%s, %s, %s: too faint:\n%s", c.name, scheme, what, bad)
				}
			}
			if wide := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
				t.Errorf("%s, %s is %d pixels too wide", c.name, what, wide)
			}
			if out := eval[string](b, cutOff); out != "" {
				t.Errorf("%s, %s: these are cut off: %s", c.name, what, out)
			}
		}
		list := func() {
			t.Helper()
			if phone {
				b.click(annLaptop + ` [aria-label="Back to the channels"]`)
			}
		}
		look("list")
		b.click(annLaptop + ` .total`)
		b.until("the sum", `document.querySelector('dialog[open] .sum')`)
		look("badge")
		b.closed()
		if folds("labels_set") {
			b.click(annLaptop + ` [aria-label="Mark all read"]`)
			b.until("a choice", `document.querySelector('dialog[open] .deeds')`)
			look("mark-all-read")
			b.closed()
			b.click(annLaptop + ` .group[data-label=work]`)
			b.until("nothing of it is archived", fmt.Sprintf(`!document.querySelector('%s .shelf')`, annLaptop))
			look("group")
			b.click(annLaptop + ` .group[data-label=""]`)
		}
		if folds("channel_filed") {
			b.click(annLaptop + ` .shelf`)
			b.row("what is archived", annLaptop, "old-project", "")
			look("archived")
			b.click(annLaptop + ` .shelf`)
		}
		b.openChannel(annLaptop, "choir")
		b.until("its messages", fmt.Sprintf(`document.querySelector('%s [data-id=c1]')`, annLaptop))
		look("played")
		list()
		b.openChannel(annLaptop, "general")
		b.until("its messages", fmt.Sprintf(`document.querySelector('%s [data-id=g5]')`, annLaptop))
		look("messages")
		if folds("messages_hidden") && !phone {
			eval[bool](b, fmt.Sprintf(`(document.querySelector('%s [data-id=g3] [aria-label="Hide for you"]').focus(), true)`, annLaptop))
			look("hide")
		}
		if folds("notify_set") {
			b.click(annLaptop + ` [aria-label="Settings of general"]`)
			b.until("its settings", `document.querySelector('dialog[open] .choices')`)
			look("settings")
			b.closed()
			list()
			b.openChannel(annLaptop, "news")
			b.click(annLaptop + ` [aria-label="Settings of news"]`)
			b.until("its settings", `document.querySelector('dialog[open] .choices')`)
			look("until")
			b.closed()
		}
	}
}
