package node

import (
	"context"
	"strings"
	"time"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/app/ui"
	"github.com/tidemark/tidemark/internal/config"
)

// addUI adds the page. The state of its feed does not affect the node's readiness.
func (n *Node) addUI() error {
	c := *n.cfg.UI
	c.Kafka, c.Topics, c.Metrics, c.Stopping = n.cfg.Kafka, n.cfg.Topics, n.registry, n.stopping
	c.Logger, c.Verifier = n.cfg.Logger.With("role", "ui"), n.cfg.Verifier
	c.Audit = n.cfg.Audit
	if n.cfg.Snapshots != nil {
		c.Snapshots = (&snapshotLister{repo: n.cfg.Snapshots, now: time.Now}).get
		c.About.Snapshots = n.cfg.Snapshots.String()
	}
	if n.cfg.Roles.Has(config.RoleProcessor) {
		c.About.DataDir = n.cfg.DataDir
		c.Verify = n.verify
		if n.cfg.Snapshots != nil {
			c.Admin = admin.Handler(n.adminConfig())
		}
	}
	c.About.Broker, c.About.Redis = strings.Join(n.cfg.Kafka.Brokers, ","), config.Redacted(n.cfg.Redis.URL)
	c.Node = n.processor
	if n.router != nil {
		c.Node = n.router
	}
	c.Cluster = n.asker(c.Node).Ask
	c.Ready = func() (bool, []string) {
		r := n.Ready()
		return r.Ready, r.Lines
	}
	c.About.Version, c.About.Roles, c.About.Group, c.About.URL = n.cfg.Build.Version, n.cfg.Roles.String(), n.cfg.Group, n.cfg.Advertise
	page, err := ui.New(c)
	if err != nil {
		return err
	}
	n.ui = page
	n.parts = append(n.parts, part{name: "page", run: func(ctx context.Context) error { return page.Run(ctx) }, ready: func() (bool, []string) { return true, nil }})
	return nil
}
