package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// patience bounds each wait for the page. It measures nothing: it is long enough for the slowest
// machine.
const patience = 90 * time.Second

// screenshots is the directory for pictures, for people to look at.
const screenshots = "../../tmp/screenshots"

// site is a complete stack at an address that stays when the stack is restarted.
type site struct {
	t      *testing.T
	url    string
	config dev.Config
	stack  *dev.Stack
	token  string // sent with published events; empty: none
}

func newSite(t *testing.T, c dev.Config) *site {
	t.Helper()
	s := &site{t: t, config: c}
	s.start()
	s.url = s.stack.URL
	s.config.Listen = strings.TrimPrefix(s.url, "http://")
	return s
}

func (s *site) start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stack, err := dev.Start(ctx, s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.stack = stack
	s.t.Cleanup(func() { _ = stack.Close() }) // a second close is none
	if err := stack.AwaitReady(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// stop stops the stack. Nothing answers at its address then.
func (s *site) stop() {
	s.t.Helper()
	if err := s.stack.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// publish writes events by HTTP.
func (s *site) publish(list ...string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/tidemark.ingest.v1.IngestService/Publish",
		strings.NewReader(`{"events":[`+strings.Join(list, ",")+`]}`))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("publish: %s", res.Status)
	}
}

// post calls a path with JSON and returns the status and the body.
func (s *site) post(path, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func joined(channel string, users ...string) string {
	list, _ := json.Marshal(users) //nolint:errchkjson // strings
	return fmt.Sprintf(`{"message":{"channel_id":%q,"members_joined":{"user_ids":%s}}}`, channel, list)
}

func posted(channel, id, sender, text string) string {
	return fmt.Sprintf(`{"message":{"channel_id":%q,"message_posted":{"message_id":%q,"sender_id":%q,"preview":%q}}}`, channel, id, sender, text)
}

// browser is one page in a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps its target there
}

// chromium is the browser of all tests of this process; each has a tab, at an address of its own.
var chromium shared

type shared struct {
	once   sync.Once
	ctx    context.Context
	cancel func()
	err    error
}

func (c *shared) start(t *testing.T) {
	t.Helper()
	path := testkit.Program(t, "chromium", "google-chrome", "chromium-browser")
	c.once.Do(func() {
		ctx, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(patience))...)
		var leave func()
		c.ctx, leave = chromedp.NewContext(ctx)
		c.cancel = func() { leave(); end() }
		c.err = chromedp.Do(c.ctx)
	})
	if c.err != nil {
		t.Fatalf("browser: %v", c.err)
	}
}

// TestMain stops the browser that tests have started. In a process that a test has started, it runs
// a node instead.
func TestMain(m *testing.M) {
	if config := os.Getenv(nodeEnv); config != "" {
		os.Exit(runNode(config))
	}
	code := m.Run()
	if chromium.cancel != nil {
		chromium.cancel()
	}
	os.Exit(code)
}

// open opens an address of the site in a window of the given size. A script error, a violation of
// the content policy, or a request to another address fails the test.
func open(t *testing.T, address string, width, height int64) *browser {
	t.Helper()
	chromium.start(t)
	ctx, cancel := chromedp.NewContext(chromium.ctx) // a tab of its own
	t.Cleanup(cancel)
	b := &browser{t, ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("browser: %v", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, func(e any) { b.judge(u.Host, e) }); err != nil {
		t.Fatalf("browser: %v", err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatalf("browser: %v", err)
	}
	if _, err := chromedp.Call(ctx, runtime.Enable, cdp.Empty{}); err != nil {
		t.Fatalf("browser: %v", err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatalf("browser: %v", err)
	}
	b.do(chromedp.EmulateViewport(width, height), chromedp.Navigate(address))
	return b
}

// judge checks an event of the browser.
func (b *browser) judge(host string, e any) {
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		what := e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			what = thrown.Description
		}
		b.t.Errorf("the page's script failed: %s", what)
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceJavascript || e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceViolation {
			b.t.Errorf("the browser objects: %s", e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != host {
			b.t.Errorf("the page asks for %s, which is elsewhere", e.Request.URL)
		}
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fail("browser: %v", err)
	}
}

// fail ends the test and logs the text of the page.
func (b *browser) fail(format string, args ...any) {
	b.t.Helper()
	b.shot("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`)) // what there is of it
	b.t.Fatalf(format+"\nthe page:\n%s", append(args, text)...)
}

// until waits until an expression is true.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && is {
			return
		}
		select {
		case <-ctx.Done():
			b.fail("never: %s: %s (%v)", what, expression, err)
		case <-tick.C:
		}
	}
}

// eval returns the value of an expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.fail("%s: %v", expression, err)
	}
	return v
}

// click clicks the element of a selector once it exists. The page itself does it in one step,
// because a redraw may move the element away from a pointer.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(selector)))
	b.until("there is to click: "+selector, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		if (!e || e.disabled) return false;
		e.scrollIntoView({ block: 'nearest' });
		e.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
		e.focus();
		e.click();
		return true;
	})()`, selector))
}

// shot keeps a picture of the page.
func (b *browser) shot(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Logf("no picture %s: %v", name, err)
		return
	}
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(screenshots, name+".png"), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// chromedpPhone makes the window that of a phone.
func chromedpPhone() chromedp.Action[chromedp.Void] { return chromedp.EmulateViewport(390, 844) }

// scheme makes the page light or dark, and waits until nothing moves, because pictures of moving
// elements differ.
func (b *browser) scheme(value string) {
	b.t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.fail("browser: %v", err)
	}
	// Animations that run already go to their end at once.
	b.until("nothing moves", `document.getAnimations().forEach((a) => a.effect.getComputedTiming().endTime < Infinity && a.finish()) ?? true`)
}

// device is the selector of a device on the page.
func device(user, kind string) string { return fmt.Sprintf(`[data-user=%q][data-kind=%q]`, user, kind) }

// postAs posts in the channel that is open on a device.
func (b *browser) postAs(of, text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(of+" .conversation > .composer .say"), text+"\r", chromedp.NodeVisible))
}

// openChannel opens a channel on a device.
func (b *browser) openChannel(of, channel string) {
	b.t.Helper()
	b.click(fmt.Sprintf(`%s .row-open[data-channel=%q]`, of, channel))
	b.until(channel+" is open", fmt.Sprintf(`document.querySelector('%s .conversation > .messages[data-channel=%q]')`, of, channel))
}

// turnToOperators closes a dialog and shows the operators' view.
func (b *browser) turnToOperators() {
	b.t.Helper()
	b.do(chromedp.KeyEvent(kb.Escape))
	b.click(`.tab[href="#operators"]`)
	b.until("partitions", `document.querySelector('[data-partition] .state-live')`)
}

// unread waits until a device shows n at a channel; 0: no number.
func (b *browser) unread(of, channel string, n int) {
	b.t.Helper()
	want := "0"
	if n > 0 {
		want = fmt.Sprint(n)
	}
	b.until(fmt.Sprintf("%s shows %s unread in %s", of, want, channel), fmt.Sprintf(
		`(document.querySelector('%s .row:has([data-channel=%q]) .count:not(.away)')?.textContent ?? '0') === %q && !!document.querySelector('%s [data-channel=%q]')`,
		of, channel, want, of, channel))
}

// total waits until a device shows the badge n.
func (b *browser) total(of string, n int) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s shows %d in all", of, n), fmt.Sprintf(`document.querySelector('%s .total')?.dataset.total === '%d'`, of, n))
}
