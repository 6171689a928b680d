package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A partition fails while a device is connected. Channels in other partitions continue. The device
// gets nothing more of channels in the failed one, and no frame reports that. An inbox request
// shows it, and so does a new connection. Events that the device writes are kept until the
// partition is back.
func TestAPartitionFailsUnderADevice(t *testing.T) {
	const fails, partitions = "general", 4
	s := start(t, dev.Config{Partitions: partitions})
	p, well := events.PartitionOf([]byte(fails), partitions), ""
	for i := 0; well == ""; i++ {
		if name := fmt.Sprintf("room%d", i); events.PartitionOf([]byte(name), partitions) != p {
			well = name
		}
	}
	emit(t, s.URL, joined(fails, "ann", "bob"), joined(well, "ann", "bob", "eve"))
	ann := dialed(t, s.URL, "ann")
	emit(t, s.URL, posted(fails, "m1", "bob"))
	ann.until("unread.updated", fails, unreadIs(1))

	newer := fmt.Appendf(nil, `{"channel_id":%q,"min_version":99,"message_posted":{"message_id":"new","sender_id":"bob"}}`, fails)
	record := &kgo.Record{Topic: events.TopicMessages, Partition: p, Key: []byte(fails), Value: newer}
	cl := testkit.Client(t, []string{s.Broker}, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := cl.ProduceSync(context.Background(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the partition stops", func() bool {
		res, err := http.Get(s.URL + "/readyz") //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode == http.StatusServiceUnavailable
	})

	before := len(ann.seen)
	emit(t, s.URL, posted(fails, "m2", "bob"))
	emit(t, s.URL, posted(well, "o1", "bob"))
	ann.until("unread.updated", well, unreadIs(1))
	if f := ann.do("mark_read", fmt.Sprintf(`"channel_id":%q,"message_id":"m1"`, fails)); f["type"] != "ack" || len(f.list("after")) != 1 {
		t.Errorf("a mark in the channel: %v", f)
	}
	ann.do("sync", "")
	if code := ann.closed(); code != gateway.CloseTryAgain {
		t.Errorf("a connection that requests an inbox is closed with %d", code)
	}
	for _, f := range ann.seen[before:] {
		// A value that still counts m1 alone may come late: m1 was delivered meanwhile.
		if f.text("message_id") == "m2" || f.is("unread.updated", fails) && f.number("unread") != 1 {
			t.Errorf("of the channel that stands still came %v", f)
		}
	}
	if code := dial(t, s.URL+"/v1/socket?user_id=ann", nil).closed(); code != gateway.CloseTryAgain {
		t.Errorf("who comes now is closed with %d", code)
	}
	// Everything works for users of whom the partition has nothing.
	eve := dialed(t, s.URL, "eve")
	emit(t, s.URL, posted(well, "o2", "bob"))
	eve.until("unread.updated", well, unreadIs(2))
}
