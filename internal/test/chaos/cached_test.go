package chaos

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/test/checker"
)

// checkCached compares Redis with the log (O7).
func (c *cluster) checkCached(tr *checker.Log) *checker.Findings {
	c.t.Helper()
	o, err := redis.ParseURL(c.redis.URL)
	if err != nil {
		c.t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	defer cancel()
	return checker.Redis(ctx, tr, rdb)
}
