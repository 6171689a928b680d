package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/dev/node"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/ui"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/snapshot"
)

type runCmd struct {
	topicsFlags
	brokersFlags
	redisFlags
	foldFlags
	skipFlags
	Roles   []string `default:"processor,cache,query" placeholder:"ROLE" help:"What this node does: processor (folds and publishes), cache (fills Redis), query (answers, and takes events), gateway (sockets; with query) (${default})."`
	Group   string   `default:"tidemark" placeholder:"NAME" help:"Consumer group of the processors; the cache's is this with -cache at its end, the gateways' with -gateway (${default})."`
	DataDir string   `default:"tidemark-data" placeholder:"DIR" help:"Where the stores of this node's partitions are (${default})."`
	memberFlags
	NoBreaker bool `help:"Do not stop a partition where most records are bad: put them into the dead letters, once their producer is repaired."`
	authFlags
	socketFlags
	nodeSnapshotFlags
	Listen string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where queries, health and metrics are served (${default})."`
	tlsFlags
	UI        bool         `name:"ui" help:"Serve the page at /: people with their channels, and a view for operators. Adds the role gateway, which its people connect to. With --auth-keys it asks for a token of scope service."`
	Advertise string       `placeholder:"URL" help:"How other nodes reach this one; http:// (with --tls-cert https://) and --listen if that names a host."`
	Insecure  bool         `help:"Listen where other machines can reach this node, though there are no keys and everyone there may read and publish as any user."`
	Memory    config.Bytes `default:"1GiB" placeholder:"SIZE" help:"Memory limit that the heap, the block cache and the queue share (${default}); 0 = none."`
	LogFormat string       `enum:"text,json" default:"text" placeholder:"FORMAT" help:"Form of log lines: text or json (${default})."`
	LogLevel  string       `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Least level of log lines: debug, info, warn or error (${default})."`
}

// memberFlags say how this node is a member of its group.
type memberFlags struct {
	Standbys       int           `default:"0" placeholder:"N" help:"How many other nodes follow each partition, so that one of them takes over at once; the same for all nodes (${default})."`
	InstanceID     string        `name:"instance-id" placeholder:"NAME" help:"Name of this node in the group, of its own: a node that comes back under it within --session-timeout has its partitions again, and nothing moves."`
	SessionTimeout time.Duration `default:"10s" placeholder:"DURATION" help:"How long this node may be silent before its partitions go to others (${default})."`
	StoreRetention time.Duration `default:"24h" placeholder:"DURATION" help:"How long the store of a partition stays on disk that has moved to another node, should it come back; 0 = for good (${default})."`
}

// nodeSnapshotFlags say where a node takes snapshots to.
type nodeSnapshotFlags struct {
	Snapshots     string        `placeholder:"URL" help:"Where snapshots are taken to and brought back from: file:///dir or s3://bucket/prefix?endpoint=HOST:PORT&region=NAME; keys for S3 come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the machine's role."`
	SnapshotEvery time.Duration `default:"10m" placeholder:"DURATION" help:"Time between two snapshots of a partition; 0 = none are taken (${default})."`
	retentionFlags
}

// open is the repository, nil if there is none.
func (f nodeSnapshotFlags) open(log *slog.Logger) (*snapshot.Repository, error) {
	if f.Snapshots == "" {
		return nil, nil
	}
	b, err := snapshot.OpenBucket(f.Snapshots)
	if err != nil {
		return nil, usagef("--snapshots: %v", err)
	}
	return snapshot.New(b, snapshot.Options{Keep: f.SnapshotKeep, Grace: f.SnapshotGrace, Logger: log}), nil
}

// foldFlags are what the fold sees of the configuration: a store that was folded with others is refused.
type foldFlags struct {
	FanoutLimit  uint32 `default:"50" placeholder:"N" help:"Members above which a channel's messages make no delta for each member; 0 = never (${default})."`
	ReceiptLimit uint32 `default:"50" placeholder:"N" help:"Members above which a message has no receipts of its own (${default})."`
}

func (f foldFlags) settings() projections.Settings {
	s := projections.DefaultSettings()
	s.FanoutLimit, s.ReceiptLimit = f.FanoutLimit, f.ReceiptLimit
	return s
}

func (runCmd) Help() string {
	return `
Runs one node of a group; start as many as are wanted, each with a data directory of its own. Everything that a node keeps
can be rebuilt from the topics. SIGINT or SIGTERM stops it in order.

Example:

    tidemark topics create --brokers kafka-1:9092 --partitions 64 --replication-factor 3
    tidemark run --brokers kafka-1:9092 --redis redis://redis:6379 --data-dir /var/lib/tidemark \
        --listen 10.0.0.5:8080 --insecure --memory 4GiB`
}

// Validate checks what is said of this node.
func (c *runCmd) Validate() error {
	if u, err := url.Parse(c.Advertise); c.Advertise != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		return fmt.Errorf("--advertise %q is no URL of this node: write it as http://10.0.0.5:8080", c.Advertise)
	}
	switch {
	case c.Standbys < 0:
		return fmt.Errorf("--standbys %d: there cannot be fewer than none", c.Standbys)
	case c.SessionTimeout <= 0:
		return fmt.Errorf("--session-timeout %s: it must be longer than nothing; brokers allow 6s to 30m if they are not set otherwise", c.SessionTimeout)
	case c.StoreRetention < 0:
		return fmt.Errorf("--store-retention %s: it cannot be negative", c.StoreRetention)
	case c.SnapshotEvery < 0:
		return fmt.Errorf("--snapshot-every %s: it cannot be negative", c.SnapshotEvery)
	}
	if err := c.checkSockets(); err != nil {
		return err
	}
	return c.retentionFlags.check()
}

// Run runs a node until it is told to stop.
func (c *runCmd) Run(a *app) error {
	roles, err := config.ParseRoles(c.Roles)
	if err != nil {
		return usagef("--roles: %v", err)
	}
	var page *ui.Config
	if c.UI {
		if !roles.Has(config.RoleQuery) {
			return usagef("--ui needs the role query on its node: the page asks there")
		}
		if !roles.Has(config.RoleGateway) {
			roles = append(roles, config.RoleGateway)
		}
		page = &ui.Config{}
	}
	kafka, err := c.kafka()
	if err != nil {
		return err
	}
	redis, err := c.redis(a)
	if err != nil {
		return err
	}
	skip, err := c.skips()
	if err != nil {
		return err
	}
	log, err := obs.NewLogger(a.stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	verifier, err := c.verifier(a.ctx, log)
	if err != nil {
		return err
	}
	token, err := c.serviceToken()
	if err != nil {
		return err
	}
	if err := query.CheckListen(c.Listen, c.Insecure || verifier != nil); err != nil {
		return usagef("%v", err)
	}
	snapshots, err := c.open(log)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (%w): name another address with --listen", c.Listen, err)
	}
	served, peers, err := c.tls(log)
	if err != nil {
		ln.Close()
		return err
	}
	advertise := c.Advertise
	if advertise == "" {
		advertise = advertised(c.Listen, ln.Addr(), served != nil)
	}
	if advertise == "" {
		log.Warn("other nodes cannot reach this one: --listen names no host that they could use; set --advertise", "listen", c.Listen)
	}
	n, err := node.New(a.ctx, node.Config{
		Roles: roles, Kafka: kafka, Redis: redis, Group: c.Group, DataDir: c.DataDir, Settings: c.settings(), Skip: skip, Topics: c.topics(),
		Standbys: c.Standbys, InstanceID: c.InstanceID, SessionTimeout: c.SessionTimeout, StoreRetention: c.StoreRetention, NoBreaker: c.NoBreaker,
		Snapshots: snapshots, SnapshotEvery: c.SnapshotEvery, Advertise: advertise, Listener: ln, TLS: served, PeerTLS: peers, Memory: c.Memory, Patience: patience, Build: a.build, Logger: log,
		Verifier: verifier, Gateway: c.gateway(token, c.Origins), UI: page,
	})
	if err != nil {
		ln.Close()
		return err
	}
	return n.Run(a.ctx)
}

// advertised is the URL of a listener, empty if it has no address of its own.
func advertised(listen string, bound net.Addr, secure bool) string {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || host == "" {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return ""
	}
	_, port, err := net.SplitHostPort(bound.String())
	if err != nil {
		return ""
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}
