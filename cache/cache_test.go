package cache

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/testkit"
)

func TestTopicsToRedis(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		topics := env.Topics(t, 4)
		rdb := redisClient(t, env.RedisURL)
		cl := producer(t, env.Brokers)
		d := reading(small("u1", "c1", 5, 2), "m4", 4, t0)
		produce(t, cl, topics, 4, unreadRecord(d), channelRecord(&events.ChannelRecord{ChannelID: []byte("c1"), HeadSeq: 9, Stamp: events.Stamp{FoldVersion: 1, M: 5}}))
		m := start(t, env.Brokers, topics, rdb)
		m.ready(t)
		t.Log(dump(t, rdb))
		t.Log(rdb.HGetAll(t.Context(), cursorsKey).Val())
		entries, totals, err := NewReader(rdb).Inbox(t.Context(), "u1")
		t.Log(entries, totals, err)
	})
}
