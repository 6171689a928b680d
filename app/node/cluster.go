package node

import (
	"context"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/app/cluster"
	"github.com/tidemark/tidemark/app/ui"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query"
)

// report describes this node to the others.
func (n *Node) report() cluster.Report {
	ready := n.Ready()
	var partitions []cluster.Partition
	if n.processor != nil {
		partitions = cluster.Partitions(n.processor)
	}
	return cluster.Report{
		URL: n.cfg.Advertise, Instance: n.cfg.InstanceID, Version: n.cfg.Build.Version, Roles: n.cfg.Roles.String(), Page: n.ui != nil,
		Ready: ready.Ready, Lines: ready.Lines, MemoryBytes: cluster.MemoryBytes(), MemoryLimit: int64(n.memory.Limit), Partitions: partitions,
	}
}

// proof is the node's proof for other nodes, and the check of theirs.
func (n *Node) proof() *peer.Proof {
	p := n.cfg.Peers
	p.Self = n.cfg.Advertise
	if n.processor != nil {
		p.RelayKey = n.processor.RelayKey
	}
	return &p
}

// asker queries all nodes of the group, and those of --nodes, for the page.
func (n *Node) asker(owners ui.Node) *cluster.Asker {
	return &cluster.Asker{
		Self: n.report, Members: n.members, Partitions: owners.Partitions, Owner: owners.Owner, Others: cluster.Others(n.cfg.Nodes, net.DefaultResolver.LookupHost), Proof: n.proof(), Transport: query.PeerTransport(n.cfg.PeerTLS),
	}
}

// members reads the members of the group from Kafka.
func (n *Node) members(ctx context.Context) ([]processor.Member, error) {
	groups, err := kadm.NewClient(n.client).DescribeGroups(ctx, n.cfg.Group)
	if err == nil {
		err = groups[n.cfg.Group].Err
	}
	if err != nil {
		return nil, fmt.Errorf("the members of group %s could not be listed: %w", n.cfg.Group, err)
	}
	return processor.MembersOf(groups[n.cfg.Group]), nil
}
