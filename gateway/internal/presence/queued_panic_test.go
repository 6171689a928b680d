package presence

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestQueuedPassesOverWhatPanics: a record at which the judging panics each time is tried a few
// times, counted, logged and skipped. A record at which it panics once is judged, and so are all
// records around them.
func TestQueuedPassesOverWhatPanics(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	c := newCluster(t, env)
	var mu sync.Mutex
	tries := map[string]int{}
	c.planted = func(where string) {
		mu.Lock()
		defer mu.Unlock()
		tries[where]++
		if where == "queued bad" || where == "queued once" && tries[where] == 1 {
			panic("planted at " + where)
		}
	}
	var log testkit.Output
	c.logger = slog.New(slog.NewTextHandler(&log, nil))
	for _, channel := range []string{"good", "bad", "once", "later"} {
		c.members[channel] = []string{"ann", "bob"}
	}
	n := c.node(time.Minute)
	c.settled(1)
	c.post(message("good", "m1", "bob"), message("bad", "m2", "bob"), message("once", "m3", "bob"), message("bad", "m4", "bob"))
	c.post(message("later", "m5", "bob"))
	c.wants("ann good m1", "ann once m3", "ann later m5")
	var failed dto.Metric
	testkit.Await(t, "both are counted", func() bool {
		return n.failed.Write(&failed) == nil && failed.GetCounter().GetValue() == 2
	})
	if n := strings.Count(log.String(), "messages are skipped"); n != 1 && n != 2 { // one a second
		t.Errorf("%d lines, want one a second:\n%s", n, log.String())
	}
	mu.Lock()
	defer mu.Unlock()
	if n := tries["queued bad"]; n < 2*judgeTries || n > 3*judgeTries {
		t.Errorf("two bad records were tried %d times, want %d each and once more in a batch", n, judgeTries)
	}
}
