package projections

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestSizeOfOldLogs measures what a message costs on disk after compaction where all but the newest
// 1 % are older than the retention, with and without TrimLog, and with ids that grow and that do
// not. Of 10M messages a store may take 40 MB, and 20 % more while it grows. The small stores of a
// short test are in Pebble's memory and log while they grow, so the test looks at that from 1M
// messages on. TIDEMARK_OLD_MESSAGES sets how many messages there are.
func TestSizeOfOldLogs(t *testing.T) {
	n := 100_000
	if s := os.Getenv("TIDEMARK_OLD_MESSAGES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		grow, trim bool
		atMost     float64
	}{{true, true, 3.2}, {false, true, 4}, {true, false, 100}, {false, false, 150}} {
		size, grown, log := oldLogs(t, n, c.grow, c.trim)
		each := float64(size) / float64(n)
		t.Logf("ids grow %t, trimmed %t: %d messages take %d bytes, %.2f each; before compaction tables of at most %d, and a log of %d",
			c.grow, c.trim, n, size, each, grown, log)
		if n >= 1_000_000 && c.trim && float64(grown) > 1.2*float64(size) {
			t.Errorf("ids grow %t: the tables took %d bytes while the store grew, and %d after compaction", c.grow, grown, size)
		}
		if each > c.atMost {
			t.Errorf("ids grow %t, trimmed %t: a message costs %.2f bytes, want at most %.2f", c.grow, c.trim, each, c.atMost)
		}
	}
}

// oldLogs folds messages of 27 years, of which the retention and a week are 1 %, 10,000 a channel.
// It returns the size of the store after a compaction, and the largest of its tables and of its log
// before.
func oldLogs(t *testing.T, n int, grow, trim bool) (size, grown, log uint64) {
	const day, years = int64(24 * 3600 * 1000), 27
	id := testIdentity()
	id.Settings.TrimLog = trim
	p := mustOpen(t, vfs.NewMem(), id)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	rng := rand.New(rand.NewPCG(1, 2))
	old := n - n/100
	step := years * 365 * day / int64(old)
	now, other := int64(1_700_000_000_000), int64(0)
	for i := range n {
		now += rng.Int64N(2*step + 1)
		if i == old {
			now += p.rules.Settings.IndexRetention + 8*day
		}
		channel := fmt.Appendf(nil, "channel-%018d", rng.IntN(max(1, n/10_000)))
		user := fmt.Appendf(nil, "user-%021d", rng.IntN(20))
		message := fmt.Appendf(nil, "%013d%013x", now, rng.Uint64()>>12)
		if !grow {
			message = fmt.Appendf(nil, "%016x%010x", rng.Uint64(), rng.Uint64()>>24)
		}
		p.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: channel, MessageID: message, SenderID: user, OccurredAt: now}, int64(i), now)
		if i%1000 == 0 || i == n-1 {
			p.FoldRead(&events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 1, ChannelID: channel, UserID: user, OccurredAt: now}, other, now)
			p.FoldDelivery(&events.Delivery{Kind: events.KindDelivered, ChannelID: channel, UserID: user, MessageID: message, OccurredAt: now}, other, now)
			other++
		}
		if i%20_000 == 19_999 || i == n-1 {
			mustCut(t, p)
			m := p.db.Metrics()
			grown, log = max(grown, uint64(m.Total().TablesSize)+m.Table.ObsoleteSize+m.Table.ZombieSize), max(log, m.WAL.PhysicalSize)
		}
	}
	if err := p.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := p.db.Compact(context.Background(), []byte{0}, []byte{255}, false); err != nil {
		t.Fatal(err)
	}
	return uint64(p.db.Metrics().Total().TablesSize), grown, log
}
