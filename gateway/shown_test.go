package gateway_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// shownTotals returns the results of the checks of what clients show.
func shownTotals(t *testing.T, url string) string {
	t.Helper()
	of := func(outcome string) string {
		return metric(t, url, fmt.Sprintf("tidemark_gateway_shown_total{outcome=%q}", outcome))
	}
	return of("equal") + " equal, " + of("different") + " different, " + of("unknown") + " unknown"
}

// The gateway counts a client that shows a wrong badge once the client has certainly received all
// frames, and not before. It does not count a sync without a badge.
func TestAClientSaysWhatItShows(t *testing.T) {
	t.Run("before it has answered pings", func(t *testing.T) {
		s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{PingEvery: time.Hour}}})
		c := dialed(t, s.URL, "ann")
		for _, fields := range []string{"", `"shown":0`, `"shown":5`, `"shown":-1`, `"shown":null`} {
			if f := c.do("sync", fields); f["type"] != "ack" {
				t.Errorf("%s: %v", fields, f)
			}
			c.until("inbox", "")
		}
		if f := c.do("sync", `"shown":"0"`); f.text("code") != "invalid_argument" {
			t.Errorf("%v", f)
		}
		if got := shownTotals(t, s.URL); got != "1 equal, 0 different, 2 unknown" {
			t.Errorf("%s", got)
		}
	})
	t.Run("after it has answered pings", func(t *testing.T) {
		s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{PingEvery: 20 * time.Millisecond}}})
		var pings atomic.Int64
		c := dial(t, s.URL+"/v1/socket?user_id=ann", &websocket.DialOptions{
			OnPingReceived: func(context.Context, []byte) bool { pings.Add(1); return true },
		})
		c.until("hello", "")
		c.until("inbox", "")
		for deadline := time.Now().Add(patience); metric(t, s.URL, `tidemark_gateway_shown_total{outcome="different"}`) == "0"; {
			if time.Now().After(deadline) {
				t.Fatalf("%s after %d pings", shownTotals(t, s.URL), pings.Load())
			}
			from := pings.Load()
			testkit.Await(t, "a few pings come", func() bool { return pings.Load() > from+4 })
			c.send(`{"type":"sync","shown":5}`)
			c.until("inbox", "")
		}
	})
}
