package node

import (
	"net/http"

	"github.com/tidemark/tidemark/internal/admin"
)

// admin serves what those who run this node ask of it. Only a node that has stores has it.
func (n *Node) admin() http.Handler {
	c := admin.Config{Node: n.processor, DataDir: n.cfg.DataDir, Verifier: n.cfg.Verifier, Stopping: n.stopping,
		Logger: n.cfg.Logger.With("role", "admin")}
	if n.cfg.Snapshots != nil {
		c.Snapshots = n.cfg.Snapshots.String()
	}
	return admin.Handler(c)
}
