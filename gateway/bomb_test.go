package gateway_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestABombLeavesSocketsAlone: a batch of messages that would decompress to more than a node may
// hold stops its partition. Sockets keep their connection and get updates of other channels, and
// messages of other channels are reported as queued.
func TestABombLeavesSocketsAlone(t *testing.T) {
	var log testkit.Output
	s := start(t, dev.Config{Partitions: 2, Memory: 128 << 20, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	bombed, well := "a", "b"
	for events.PartitionOf([]byte(bombed), 2) == events.PartitionOf([]byte(well), 2) {
		well += "b"
	}
	emit(t, s.URL, joined(bombed, "ann", "bob"), joined(well, "ann", "bob", "cleo"))
	ann := dialed(t, s.URL, "ann")
	emit(t, s.URL, posted(well, "m1", "bob"))
	ann.until("message.new", well, id("m1"))
	const size = 12 << 20
	producer := testkit.Client(t, []string{s.Broker}, kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(size+4096))
	for range 3 {
		r := &kgo.Record{Topic: events.TopicMessages, Key: []byte(bombed), Value: make([]byte, size)}
		if err := producer.ProduceSync(within(t), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Await(t, "both readers of the gateway pass over all three", func() bool {
		return strings.Count(log.String(), "a batch of records is skipped") >= 6
	})
	emit(t, s.URL, posted(well, "m2", "bob"))
	ann.until("message.new", well, id("m2"))
	inboxes := 0
	for _, f := range ann.seen {
		if f["type"] == "inbox" {
			inboxes++
		}
	}
	if inboxes != 1 {
		t.Errorf("ann got %d inboxes, want one: the feed was interrupted", inboxes)
	}
	offlineUnread(t, s.URL, "cleo", well, 2)
}
