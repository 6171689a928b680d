package museum

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/queryv1"
)

// full runs the heavy stories with the numbers at which the other products failed.
var full = os.Getenv("TIDEMARK_MUSEUM_FULL") != ""

// TestMarkAllRead is museum-77: "Mark all read" wrote a row for each message. It took minutes or
// timed out, and reported partial completion. Here one call writes one event for each channel with
// unread messages, and each event can be undone.
func TestMarkAllRead(t *testing.T) {
	s := newSite(t, embedded(t))
	channels, messages := 200, 20
	if full {
		channels, messages = 5000, 200
	}
	t.Run("museum-77", func(t *testing.T) {
		l := newTale(t, s, "museum-77", &datadriven.TestData{CmdArgs: []datadriven.CmdArg{{Key: "now"}}})
		const then = "at 0:00:01 recorded 0:00:01" // one second per message would pass whole days
		for i := range channels {
			l.event(fmt.Sprintf("a, b join #c%d %s", i, then))
			l.event(fmt.Sprintf("b posts m1..m%d @a #c%d %s", messages, i, then))
			if i%100 == 99 {
				l.publish()
			}
		}
		l.event("a, b join #read " + then)
		l.publish()
		a := l.wireUser("a")
		totals := func() *queryv1.Totals {
			return asked(l, s.query.GetInbox, &queryv1.GetInboxRequest{UserId: a, PageSize: 1, After: l.after}).Totals
		}
		if n := totals(); n.Unread != uint32(channels*messages) || n.UnreadChannels != uint32(channels) {
			t.Fatalf("%v unread before", n)
		}
		marked := asked(l, s.ingest.MarkAllRead, &ingestv1.MarkAllReadRequest{UserId: a, After: l.after})
		l.after = append(l.after, marked.After...)
		if n := totals(); marked.Channels != uint32(channels) || n.Unread != 0 || n.Mentions != 0 || n.UnreadChannels != 0 {
			t.Errorf("%d channels were marked, %v unread after", marked.Channels, n)
		}
		if reads := s.records(t, s.topics.Inputs[1]); len(reads) != channels {
			t.Errorf("%d events were written for %d channels", len(reads), channels)
		}
		again := asked(l, s.ingest.MarkAllRead, &ingestv1.MarkAllReadRequest{UserId: a, After: l.after})
		if again.Channels != 0 || len(again.After) != 0 {
			t.Errorf("a second call marks %d channels", again.Channels)
		}
		for i := range channels {
			l.event(fmt.Sprintf("a marks unread m%d #c%d", messages, i))
		}
		l.publish()
		if n := totals(); n.Unread != uint32(channels) || n.UnreadChannels != uint32(channels) {
			t.Errorf("%v unread after each was undone", n)
		}
	})
}

// TestReceiptsCostWhatIsRead is museum-76: a store of receipts had a row for each user and message.
// In weeks it grew beyond 10 GB, larger than the store of messages. Here a read that reaches a
// thousand messages costs the same as a read of one message.
func TestReceiptsCostWhatIsRead(t *testing.T) {
	s := newSite(t, embedded(t))
	members, messages := 2000, 1000
	if full {
		members = 10_000
	}
	t.Run("museum-76", func(t *testing.T) {
		sizes := map[int]int64{}
		for _, reached := range []int{1, messages} {
			l := newTale(t, s, "museum-76."+strconv.Itoa(reached), &datadriven.TestData{CmdArgs: []datadriven.CmdArg{{Key: "alone"}}})
			l.event(fmt.Sprintf("b, u1..u%d join", members))
			l.event(fmt.Sprintf("b posts m1..m%d", messages))
			for i := range members {
				l.event(fmt.Sprintf("u%d reads up to m%d", i+1, reached))
			}
			l.publish()
			u := asked(l, s.query.GetUnread, &queryv1.GetUnreadRequest{
				UserId: l.wireUser("u" + strconv.Itoa(members)), ChannelId: l.wireChannel("c"), After: l.after,
			})
			if u.Unread != uint32(messages-reached) {
				t.Fatalf("%d unread of %d, of which %d are read", u.Unread, messages, reached)
			}
			sizes[reached] = int64(l.alone)
		}
		s.stop() // takes the last cut
		for reached, partition := range sizes {
			sizes[reached] = dirSize(t, filepath.Join(s.dir, fmt.Sprintf("partition-%d", partition)))
		}
		t.Logf("%d members have read 1 message each: %d bytes; %d messages each: %d bytes", members, sizes[1], messages, sizes[messages])
		if most := sizes[1] + int64(members)*64; sizes[messages] > most {
			t.Errorf("reading %d messages instead of one costs %d members %d bytes instead of %d: more than 64 bytes each", messages, members, sizes[messages], sizes[1])
		}
	})
}

func dirSize(t *testing.T, dir string) (n int64) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// embedded is the environment of tests that need no real servers.
func embedded(t *testing.T) testkit.Env {
	return testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
}
