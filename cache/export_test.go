package cache

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Writer writes the published records of one partition, for tests outside of the package.
type Writer struct{ rig *rig }

// PackedRedis starts a real Redis that Begin's writers fill with packed values.
func PackedRedis(t testing.TB) *redis.Client {
	return pack(t, redisClient(t, testkit.Redis(t).URL))
}

// Begin empties Redis, marks it complete, and returns a writer.
func Begin(t testing.TB, rdb *redis.Client) *Writer {
	t.Helper()
	rdb.FlushAll(t.Context())
	rdb.Set(t.Context(), epochKey, formatOf(rdb).String()+"e", 0)
	return &Writer{own(t, rdb)}
}

// Write writes records as one batch.
func (w *Writer) Write(t testing.TB, records ...*kgo.Record) {
	t.Helper()
	if len(records) > 0 {
		w.rig.send(t, w.rig.join(new(batch), records...))
	}
}
