package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/gateway/internal/skips"
)

// A topic is full of records that this build cannot read, 2,500 of them a millisecond apart. The
// log gets a line per second with the number of records since the last line. Together the lines
// count all records.
func TestBadRecordsAreLoggedOnceASecond(t *testing.T) {
	g := bare()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var out bytes.Buffer
	g.cfg.Now, g.cfg.Logger = func() time.Time { return now }, slog.New(slog.NewJSONHandler(&out, nil))
	g.cfg.Topics.Unread = "tidemark.unread"
	d := decoder{skipped: skips.New(g.cfg.Logger, g.cfg.Now)}
	for offset := range int64(2500) {
		bad := &kgo.Record{Topic: "tidemark.unread", Partition: 3, Offset: offset, Key: []byte("no key of three parts")}
		g.take(d.skipped.Poll(t.Context(), func(context.Context) kgo.Fetches {
			return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: bad.Topic, Partitions: []kgo.FetchPartition{{Partition: 3, Records: []*kgo.Record{bad}}}}}}}
		}), &d)
		now = now.Add(time.Millisecond)
	}
	d.skipped.End()
	lines, about := 0, 0
	for dec := json.NewDecoder(&out); dec.More(); lines++ {
		var l struct {
			Topic     string `json:"topic"`
			Partition int32  `json:"partition"`
			Offset    int64  `json:"offset"`
			Err       string `json:"err"`
			Count     int    `json:"count"`
		}
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		about += l.Count
		if l.Topic != "tidemark.unread" || l.Partition != 3 || int(l.Offset) != about-1 || l.Err == "" {
			t.Fatalf("line %d, about %d so far: %+v", lines, about, l)
		}
	}
	if lines != 4 || about != 2500 {
		t.Errorf("%d lines about %d records, want 4 about 2500", lines, about)
	}
}
