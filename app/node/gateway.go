package node

import (
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/query"
)

// addGateway adds the role that serves sockets. It reads through this node's own query service,
// which forwards to the owners, so it needs the role query.
func (n *Node) addGateway(partitions int32) error {
	c := &n.cfg
	o, err := c.Redis.Options()
	if err != nil {
		return err
	}
	o.ContextTimeoutEnabled = true // a Redis that hangs does not hold up a stop
	n.sockets = redis.NewClient(o)
	n.sockets.AddHook(n.redisMetrics.of(config.RoleGateway))
	gc := c.Gateway
	gc.Brokers, gc.ClientOptions, gc.Partitions = c.Kafka.Brokers, c.Kafka.Options, partitions
	gc.Group, gc.GroupSession = c.Group+"-gateway", c.SessionTimeout
	gc.ReceiptLimit, gc.ThreadsAlways = c.Settings.ReceiptLimit, c.ThreadsAlways
	gc.Topics = gateway.Topics{
		Messages: c.Topics.Inputs[events.Messages], Reads: c.Topics.Inputs[events.Reads], Deliveries: c.Topics.Inputs[events.Deliveries],
		Unread: c.Topics.Unread, Channels: c.Topics.Channels, Receipts: c.Topics.Receipts,
	}
	gc.Query = query.NewLocal(query.Config{
		Node: n.answers(), Topics: c.Topics.Inputs, Self: c.Advertise, Peers: c.Peers, Stopping: n.stopping, Transport: query.PeerTransport(c.PeerTLS),
		Logger: c.Logger.With("role", "gateway"), Trace: n.traces.engine, Spans: n.traces.calls,
	})
	gc.Verifier, gc.Audit, gc.Trace = c.Verifier, c.Audit, n.traces.engine
	if gc.OwnAccount == nil {
		gc.OwnAccount = c.Peers.OwnAccount()
	}
	gc.Producer, gc.Redis, gc.Registerer, gc.Logger = n.client, n.sockets, n.registry, c.Logger.With("role", "gateway")
	if n.gateway, err = gateway.New(gc); err != nil {
		return err
	}
	n.parts = append(n.parts, part{name: "gateway", run: n.gateway.Run, ready: n.gateway.Ready, early: true})
	return nil
}

// socket serves /v1/socket; nil without the role.
func (n *Node) socket() http.Handler {
	if n.gateway == nil {
		return nil
	}
	return n.gateway
}
