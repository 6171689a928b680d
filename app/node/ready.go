package node

import (
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/query"
)

// Ready reports whether all roles of this node do their work, with a line for each partition and
// part.
func (n *Node) Ready() obs.Readiness {
	r := obs.Readiness{Ready: true}
	if n.stopping.Err() != nil {
		r = obs.Readiness{Lines: []string{"stopping"}}
	}
	for _, p := range n.parts {
		ready, lines := p.ready()
		r.Ready = r.Ready && ready
		r.Lines = append(r.Lines, lines...)
	}
	if err := n.speechless(); err != nil {
		r.Ready = r.Ready && n.cfg.Roles.Has(config.RoleProcessor) // the node's own partitions
		r.Lines = append(r.Lines, "query: "+err.Error())
	}
	// Other nodes' refusals of this node's proof do not decide: one misconfigured node would take
	// all nodes out of service.
	r.Lines = append(r.Lines, n.cfg.Peers.Doubts.Lines()...)
	return r
}

// speechless returns the reason why this node cannot call other nodes now, such as an expired token
// of its own. It is nil if the node can, or if the role gateway reports the reason already.
func (n *Node) speechless() error {
	if n.cfg.Verifier == nil || n.gateway != nil || !n.cfg.Roles.Has(config.RoleQuery) {
		return nil
	}
	if account := n.cfg.Peers.OwnAccount(); account != nil {
		return account()
	}
	return nil
}

func (n *Node) answers() query.Node {
	if n.router != nil {
		return n.router
	}
	return n.processor
}
