package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/authtest"
)

// TestWithKeysThePageAsksForAToken: the page prompts for a token, and sends it with queries,
// sockets and streams alike.
func TestWithKeysThePageAsksForAToken(t *testing.T) {
	s := newSite(t, dev.Config{Verifier: authtest.Verifier(t)})
	s.token = authtest.Service(t)
	s.publish(joined("general", "ann", "bob"))
	b := open(t, s.url+everyone, 1280, 800)
	give := func(token string) {
		b.do(chromedp.SendKeys(chromedp.CSS("input[name=token]"), token+"\r", chromedp.NodeVisible))
	}
	b.until("it asks", `document.querySelector('.sign-in input') && !document.querySelector('.sign-in .trouble')`)
	b.shot("sign-in")
	give(authtest.Token(t, "ann", time.Hour))
	b.until("a user's token is refused in words", `document.querySelector('.sign-in .trouble')?.innerText.includes('the token needs the scope')`)
	give(s.token)
	b.unread(bobLaptop, "general", 0)
	b.openChannel(bobLaptop, "general")
	b.postAs(bobLaptop, "with a token")
	b.unread(annLaptop, "general", 1)
	b.until("the text too", fmt.Sprintf(`document.querySelector('%s .message')?.innerText.includes('with a token')`, annLaptop))
	b.click(annLaptop + ` .row:has([data-channel=general]) .count`)
	b.until("queries have it", `document.querySelector('dialog[open] [data-unread="1"]')`)

	b.do(chromedp.Reload())
	b.unread(annLaptop, "general", 1)
	seen := eval[string](b, `location.href + document.cookie + JSON.stringify(localStorage) + document.documentElement.outerHTML`)
	if signature := s.token[strings.LastIndex(s.token, ".")+1:]; strings.Contains(seen, signature) {
		t.Error("the token is in the address, in a cookie, in what outlasts the tab, or in the document")
	}
}
