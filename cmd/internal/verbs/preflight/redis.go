package preflight

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/config"
)

var (
	evicts    = regexp.MustCompile(`maxmemory_policy:(\S+)`)
	clustered = regexp.MustCompile(`cluster_enabled:1`)
)

// redis checks that Redis answers, that its user may write what the roles write, and that it is no
// cluster and evicts nothing.
func (c *Config) redis(ctx context.Context, r *Report) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.Patience)
	defer cancel()
	o, err := c.Node.Redis.Options()
	if err != nil {
		r.Failed("redis", err.Error(), "repair --redis")
		return
	}
	o.MaxRetries, o.DialTimeout = -1, c.Patience
	cl := redis.NewClient(o)
	defer func() { _ = cl.Close() }() // everything that was written is removed
	if err := cl.Ping(ctx).Err(); err != nil {
		r.Failed("redis", fmt.Sprintf("no Redis answers at %s (%v)", o.Addr, err),
			"check the address of --redis, the network, TLS (rediss://, --redis-ca) and the login (--redis-password-file)")
		return
	}
	well := true
	for _, k := range []struct {
		role config.Role
		key  string
	}{
		{config.RoleCache, "tidemark:check-"},
		{config.RoleGateway, "ws:%check-"}, // no user's key has % alone
	} {
		if !c.Node.Roles.Has(k.role) {
			continue
		}
		if err := written(ctx, cl, k.key+rand.Text()); err != nil {
			well = false
			r.Failed("redis", fmt.Sprintf("the role %s cannot write and read a key (%v)", k.role, err),
				"give the user the rights that docs/redis.md lists, and check that Redis is a primary with free memory")
		}
	}
	memory, err1 := cl.Info(ctx, "memory").Result()
	cluster, err2 := cl.Info(ctx, "cluster").Result()
	policy := evicts.FindStringSubmatch(memory)
	switch {
	case clustered.MatchString(cluster):
		well = false
		r.Failed("redis", "it is a cluster, and Tidemark's keys of one user are in different slots", "use one primary, or Sentinel")
	case policy != nil && policy[1] != "noeviction":
		well = false
		r.Failed("redis", "its maxmemory-policy is "+policy[1]+": an inbox that lost keys would look like a small one",
			"`redis-cli CONFIG SET maxmemory-policy noeviction`, and in its configuration")
	case errors.Join(err1, err2) != nil || policy == nil:
		r.Unknown("redis", "this user may not read its maxmemory-policy", "make sure that it is noeviction, and that Redis is no cluster")
	}
	if well {
		r.OK("redis", o.Addr+" answers, and can be written")
	}
}

// written writes a key, reads and removes it.
func written(ctx context.Context, cl *redis.Client, key string) error {
	if err := cl.Set(ctx, key, "1", 10*time.Second).Err(); err != nil {
		return err
	}
	if err := cl.Get(ctx, key).Err(); err != nil {
		return err
	}
	return cl.Del(ctx, key).Err()
}
