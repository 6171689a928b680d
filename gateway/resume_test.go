package gateway_test

import (
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A device is cut off at every step of a connection (before hello, before its inbox, right after
// it, amid changes) while events continue, and reconnects each time. In the end it equals the log;
// so does a device that is never cut off. Each connection begins with an inbox of its own. Nothing
// is resumed, so nothing can be missing.
func TestNeverASilentGap(t *testing.T) {
	w := newTown(t)
	const connections = 24
	stays := w.device(w.URL, "user1", nil)
	cut := w.device(w.URL, "user0", func(n int) int {
		if n > connections {
			return -1
		}
		return n % 8 // 0: before hello
	})
	testkit.Await(t, "it was cut off at every step", func() bool {
		w.paced(8, stays)
		return cut.made() > connections
	})
	w.paced(20, stays)
	l := w.log()
	cut.agrees(l)
	stays.agrees(l)
	t.Logf("%d records; %d connections with %d inboxes; %d and %d messages heard", l.Records, cut.made(), cut.is.Inboxes,
		cut.is.Messages, stays.is.Messages)
}
