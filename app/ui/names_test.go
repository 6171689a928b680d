package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tidemark/tidemark/app/dev"
)

// Ids are any text: an address, another script, an emoji of several code points.
const (
	longName   = "maximiliana.konstantinopolskaya-featherstonehaugh@example-corporation.example"
	hebrewName = "רחל"
	familyName = "👩‍👩‍👧"
)

// TestNamesOfAllKinds: whatever the names of users and channels are, they leave room for the
// elements beside them, their initial is a whole character, and they can be mentioned.
func TestNamesOfAllKinds(t *testing.T) {
	s := newSite(t, dev.Config{})
	wide := "a-channel-with-an-unreasonably-long-name-that-somebody-made-for-a-project-in-2019"
	s.publish(joined(wide, "ann", longName, hebrewName, familyName), joined("dm:ann:"+familyName, "ann", familyName),
		posted(wide, "w1", longName, "hello"), posted(wide, "w2", familyName, "שלום לכולם? (test)"), posted("dm:ann:"+familyName, "d1", familyName, "hi"))
	b := open(t, s.url+"/?people=ann,"+longName+","+hebrewName+",nobody", 1440, 900)
	ann := device("ann", "laptop")
	b.unread(ann, wide, 2)
	b.openChannel(ann, wide)
	b.until("its messages", fmt.Sprintf(`document.querySelector('%s [data-id=w2]')`, ann))
	b.until("who is in no channel has none to pick", fmt.Sprintf(`document.querySelector('%s')?.innerText.includes('is in no channel yet') && !document.querySelector('%[1]s .middle')`, device("nobody", "laptop")))
	if bad := eval[string](b, `[...document.querySelectorAll('.avatar')].map((e) => e.textContent).filter((x) => !x.isWellFormed() || !x).map(escape).join(' ')`); bad != "" {
		t.Errorf("parts of characters stand for names: %s", bad)
	}
	b.until("a whole emoji stands for its name", fmt.Sprintf(`[...document.querySelectorAll('.avatar')].some((e) => e.textContent === %q)`, familyName))
	if dir := eval[string](b, fmt.Sprintf(`getComputedStyle(document.querySelector('%s [data-id=w2] .text')).direction`, ann)); dir != "rtl" {
		t.Errorf("text that is read from the right goes %s", dir)
	}
	for _, width := range []int64{360, 1024, 1440} {
		b.do(chromedp.EmulateViewport(width, 800))
		if out := eval[string](b, cutOff); out != "" {
			t.Errorf("at %d wide these are cut off: %s", width, out)
		}
	}
	b.shot("names-of-all-kinds")

	b.postAs(ann, "@"+longName+", @Ann and @"+hebrewName+": write to ann@nobody.example")
	called := `[...document.querySelectorAll('%s .message:last-child .called')].map((e) => e.textContent).join(' ')`
	b.until("three are called, and an address is none of them", fmt.Sprintf(`%s === %q`, fmt.Sprintf(called, ann), "@"+longName+" @Ann @"+hebrewName))
	b.until("who is called has a mention", fmt.Sprintf(`document.querySelector('%s .row .at')`, device(hebrewName, "laptop")))
}

// TestAThreadOpensWhereReadingHadStopped: a thread opens at its unread line, or at its end, and
// stays there when replies arrive.
func TestAThreadOpensWhereReadingHadStopped(t *testing.T) {
	s, b := town(t, dev.Config{})
	s.publish(posted("general", "root", "ann", "a question"))
	for i := range 60 {
		s.publish(fmt.Sprintf(`{"message":{"channel_id":"general","message_posted":{"message_id":"t%d","sender_id":"bob","thread_id":"root","preview":"answer %[1]d"}}}`, i))
	}
	b.openChannel(annLaptop, "general")
	b.until("its replies are counted", fmt.Sprintf(`document.querySelector('%s .threads-button')?.ariaLabel === 'Threads, 60 unread'`, annLaptop))
	b.until("all of them are there", fmt.Sprintf(`document.querySelector('%s .replies')?.textContent === '60 replies'`, annLaptop))
	b.click(annLaptop + " .replies")
	b.until("the line is above the first", fmt.Sprintf(`document.querySelector('%s .thread .line + .message')?.dataset.id === 't0'`, annLaptop))
	list := fmt.Sprintf(`document.querySelector('%s .thread .messages')`, annLaptop)
	b.until("and on the screen, with the end below it", list+`.scrollHeight - `+list+`.scrollTop - `+list+`.clientHeight > 100`)
	b.until("it is read", fmt.Sprintf(`document.querySelector('%s .threads-button')?.ariaLabel === 'Threads'`, annPhone))

	b.click(annLaptop + ` [aria-label="Close the thread"]`)
	b.click(annLaptop + " .replies")
	atEnd := list + `.scrollHeight - ` + list + `.scrollTop - ` + list + `.clientHeight < 5`
	b.until("what is read opens at its end", atEnd)
	s.publish(`{"message":{"channel_id":"general","message_posted":{"message_id":"last","sender_id":"bob","thread_id":"root","preview":"and one more"}}}`)
	b.until("and stays there", fmt.Sprintf(`document.querySelector('%s .thread [data-id=last]') && %s`, annLaptop, atEnd))
}
