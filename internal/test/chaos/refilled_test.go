package chaos

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// checkRefilled fills an empty Redis from the last record of every key, as compaction leaves them
// in the output topics, and compares it with the log (O7).
func (c *cluster) checkRefilled(tr *checker.Log) *checker.Findings {
	c.t.Helper()
	kept := testkit.Topics(c.t, c.kafka.Brokers, partitions, 1)
	last := map[string]*kgo.Record{}
	for _, r := range c.records(events.TopicUnread, events.TopicChannels) {
		last[r.Topic+"\x00"+string(r.Key)] = r
	}
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	defer cancel()
	for _, r := range last {
		c.produce(&kgo.Record{Topic: kept.Name(r.Topic), Partition: r.Partition, Key: r.Key, Value: r.Value})
	}
	if err := c.client.Flush(ctx); err != nil {
		c.t.Fatal(err)
	}
	o, err := redis.ParseURL(testkit.Redis(c.t).URL)
	if err != nil {
		c.t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	filler, err := cache.New(cache.Config{Brokers: c.kafka.Brokers, Group: testkit.UniqueName(c.t, "refill"), Redis: rdb, Values: c.redisValues,
		Unread: kept.Name(events.TopicUnread), Channels: kept.Name(events.TopicChannels)})
	if err != nil {
		c.t.Fatal(err)
	}
	filling, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- filler.Run(filling) }()
	c.until("a Redis is filled from what compaction leaves", func() bool { ok, _ := filler.Ready(); return ok })
	stop()
	if err := <-done; err != nil {
		c.t.Errorf("fill a Redis: %v", err)
	}
	f := checker.Redis(ctx, tr, rdb)
	f.What = "a Redis that was filled from what compaction leaves"
	return f
}
