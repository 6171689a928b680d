package node

import (
	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/config"
)

// addCache adds the role that fills Redis. Redis need not answer yet.
//
// A Redis that is down, slow or not yet filled takes no node out of service, because folding and
// queries do not need it. So /readyz shows the cache's lines, but they decide only on a node with
// no other role.
func (n *Node) addCache() error {
	c := &n.cfg
	o, err := c.Redis.Options()
	if err != nil {
		return err
	}
	o.ContextTimeoutEnabled = true // a Redis that hangs does not hold up a stop
	n.redis = redis.NewClient(o)
	n.redis.AddHook(n.redisMetrics.of(config.RoleCache))
	filler, err := cache.New(cache.Config{
		Brokers: c.Kafka.Brokers, ClientOptions: c.Kafka.Options, Group: c.Group + "-cache",
		Unread: c.Topics.Unread, Channels: c.Topics.Channels,
		SessionTimeout: c.SessionTimeout, ThreadsAlways: c.ThreadsAlways, Values: c.RedisValues, Keys: c.RedisKeys,
		Redis: n.redis, Registerer: n.registry, Logger: c.Logger.With("role", "cache"), Trace: n.traces.engine,
		BatchRecords: n.memory.Records, FetchBytes: int32(n.memory.Fetch), //nolint:gosec // it has an upper limit
	})
	if err != nil {
		return err
	}
	alone := len(c.Roles) == 1 && c.Roles.Has(config.RoleCache)
	n.parts = append(n.parts, part{name: "cache", run: filler.Run, ready: func() (bool, []string) {
		ready, lines := filler.Ready()
		return ready || !alone, lines
	}})
	return nil
}
