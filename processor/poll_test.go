package processor

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestPollsRest: events that come one by one share fetches, of which there is at most one in
// pollEvery.
func TestPollsRest(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 1)
	m := s.start(s.config(t.TempDir())).ready(1)
	s.join("chat", "ann", "bob")
	var fetches atomic.Int64
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	began, last, n := time.Now(), s.post("chat", "m0", "ann"), 1
	for ; time.Since(began) < time.Second; n++ {
		last = s.post("chat", fmt.Sprintf("m%d", n), "ann")
	}
	if got := m.unread(last, "bob", "chat"); got != uint32(n) {
		t.Errorf("bob has %d unread messages of %d", got, n)
	}
	most := int64(time.Since(began)/pollEvery) + 10
	if got := fetches.Load(); got > most {
		t.Errorf("%d fetches for %d events, want at most %d", got, n, most)
	}
}
