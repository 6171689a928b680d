package preflight

import (
	"context"
	"time"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/internal/config"
)

// Config is a node that may be started, with values that node.Config does not have.
type Config struct {
	Node        node.Config // without listeners and logger
	KafkaUser   string      // the login name; empty: none
	Listen      string
	AdminListen string
	Patience    time.Duration // how long each of the other nodes may take to answer
}

// Run does all checks. Only the end of ctx stops it early.
func Run(ctx context.Context, c Config, r *Report) {
	n := c.Node
	if partitions := c.kafka(ctx, r); n.Roles.Has(config.RoleProcessor) || n.Roles.Has(config.RoleQuery) {
		c.memory(r, partitions)
	}
	if n.Roles.Has(config.RoleProcessor) {
		c.dataDir(r)
	}
	if n.Roles.Has(config.RoleCache) || n.Roles.Has(config.RoleGateway) {
		c.redis(ctx, r)
	}
	if n.Snapshots != nil && n.Roles.Has(config.RoleProcessor) {
		c.snapshots(ctx, r)
	}
	c.listeners(r)
}
