package node

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/app/cluster"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/crossorigin"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/guard/httpguard"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/query"
)

const (
	// adminConnections bounds the connections of the operators' listener; it has at most a quarter
	// of the connections that the limit of open files allows.
	adminConnections = 256
	// streamWrite bounds each write of a long answer.
	streamWrite = 30 * time.Second
)

// served is a listener with its server.
type served struct {
	name     string // in errors and metrics
	listener net.Listener
	*edge.Server
}

// addDoors makes the servers of all listeners.
func (n *Node) addDoors() {
	c := n.cfg.Edge
	c.Keys, c.Registerer, c.Logger = n.cfg.Verifier != nil, n.registry, n.cfg.Logger.With("role", "http")
	c.Refused = n.refusedAtTheDoor
	if u, err := url.Parse(n.cfg.Advertise); err == nil && u.Hostname() != "" {
		c.Hosts = append(slices.Clone(c.Hosts), u.Hostname()) // the host at which other nodes call this one
	}
	sockets, operators := 0, 0
	if n.gateway != nil {
		sockets = n.cfg.Gateway.Limits.Connections
	}
	possible := edge.Connections(sockets)
	if n.cfg.AdminListener != nil {
		operators = max(min(adminConnections, possible/4), 1)
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = max(possible-operators, 1)
		if c.MaxConnections <= sockets {
			c.Logger.Warn("the limit of open files is too low for --max-connections: raise it (ulimit -n)",
				"max_connections", sockets, "max_http_connections", c.MaxConnections)
		}
	}
	safe := func(h http.Handler) http.Handler { return httpguard.Handler(n.cfg.Logger, h) }
	n.doors = []served{{"http", n.cfg.Listener, edge.New(c, "http", safe(n.handler()))}}
	if l := n.cfg.AdminListener; l != nil {
		c.MaxConnections = operators
		n.doors = append(n.doors, served{"admin", l, edge.New(c, "admin", safe(n.adminHandler()))})
	}
}

// refusedAtTheDoor records a request that no handler saw. It leaves out the path, which may be any
// text of the sender.
func (n *Node) refusedAtTheDoor(r *http.Request, why string) {
	e := audit.Of(r.Context(), audit.Refusal, "/", r.RemoteAddr)
	e.Outcome, e.Why = "permission_denied", why
	n.cfg.Audit.Note(e)
}

// handler serves all paths of the node, except those with a listener of their own.
func (n *Node) handler() http.Handler {
	var rest http.Handler
	if n.processor != nil { // only this node can answer for its partitions, even if other nodes have the role query
		var producer *kgo.Client
		if n.cfg.Roles.Has(config.RoleQuery) {
			producer = n.client
		}
		rest = query.Handler(query.Config{
			Node: n.answers(), Topics: n.cfg.Topics.Inputs, Self: n.cfg.Advertise, Producer: producer, Stopping: n.stopping, Verifier: n.cfg.Verifier,
			Peers: n.cfg.Peers, Audit: n.cfg.Audit, Transport: query.PeerTransport(n.cfg.PeerTLS), Limits: n.limits(),
			Registerer: n.registry, Logger: n.cfg.Logger.With("role", "query"), Trace: n.traces.engine, Spans: n.traces.calls,
		})
		g := n.cfg.Gateway // sockets and calls share one list of origins
		rest = crossorigin.Handler(crossorigin.Config{Origins: g.Origins, Loopback: g.LoopbackOrigins}, rest)
	}
	var mux *http.ServeMux
	if n.cfg.AdminListener == nil {
		mux = obs.Mux(n.Ready, n.metrics(), rest)
		n.serveAdmin(mux)
	} else {
		mux = obs.Mux(n.Ready, nil, rest)
	}
	mux.Handle("GET "+cluster.PathSelf, cluster.Handler(n.report, n.proof(), n.cfg.Verifier, n.cfg.Logger.With("role", "http")))
	if s := n.socket(); s != nil {
		mux.Handle("GET /v1/socket", s)
	}
	if n.ui != nil {
		mux.Handle("GET /{$}", n.ui)
		mux.Handle("/ui/", edge.Lasting(n.ui, streamWrite))
	}
	return mux
}

// adminHandler serves operators on a listener of their own, the only one with profiles.
func (n *Node) adminHandler() http.Handler {
	mux := obs.Mux(n.Ready, n.metrics(), nil)
	n.serveAdmin(mux)
	mux.Handle("/debug/pprof/", edge.Lasting(admin.Profiles(n.adminConfig()), streamWrite))
	return mux
}

// serveAdmin adds the paths for operators: those about stores, if the node has some, and the level
// of the log.
func (n *Node) serveAdmin(mux *http.ServeMux) {
	if n.cfg.LogLevel != nil {
		mux.Handle(admin.PathLogLevel, edge.Lasting(admin.LogLevel(n.adminConfig()), streamWrite))
	}
	if n.cfg.Roles.Has(config.RoleProcessor) {
		mux.Handle("/admin/", edge.Lasting(admin.Handler(n.adminConfig()), streamWrite))
	}
}

func (n *Node) adminConfig() admin.Config {
	c := admin.Config{Node: n.processor, DataDir: n.cfg.DataDir, Verifier: n.cfg.Verifier, Audit: n.cfg.Audit, Past: n.past, Stopping: n.stopping,
		Level: n.cfg.LogLevel, Logger: n.cfg.Logger.With("role", "admin")}
	if n.cfg.Snapshots != nil {
		c.Snapshots = n.cfg.Snapshots.String()
	}
	return c
}

// metrics serves /metrics, with exemplars if there are traces.
func (n *Node) metrics() http.Handler { return obs.Metrics(n.registry, n.traces.engine != nil) }

// limits are those of the configuration, with a share of the node's memory for the bodies of
// requests.
func (n *Node) limits() query.Limits {
	l := n.cfg.Limits
	if l.Bodies == 0 && n.memory.Limit > 0 {
		l.Bodies = min(max(int64(n.memory.Limit/8), 48<<20), 512<<20)
	}
	return l
}

// serve serves a listener until drain.
func (n *Node) serve(d served) error { return d.Serve(d.listener, n.cfg.TLS) }
