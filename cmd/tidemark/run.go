package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/app/ui"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/snapshot"
	"github.com/tidemark/tidemark/sqlsink"
)

type runCmd struct {
	verbs.ConfigFlags
	verbs.TopicsFlags  `group:"Kafka:"`
	verbs.BrokersFlags `group:"Kafka:"`
	verbs.RedisFlags   `group:"Redis:"`
	cacheFlags         `group:"Redis:"`
	verbs.SQLFlags     `group:"SQL (with the role sql):"`
	verbs.FoldFlags    `group:"Counting (the same on all nodes):"`
	threadFlags        `group:"Counting (the same on all nodes):"`
	verbs.SkipFlags    `group:"Counting (the same on all nodes):"`
	Roles              []string `default:"processor,cache,query" placeholder:"ROLE" help:"Roles of this node: processor (folds and publishes), cache (fills Redis), query (answers queries, takes events), gateway (sockets; needs query), sql (writes to PostgreSQL; needs --sql) (${default})."`
	Group              string   `default:"tidemark" placeholder:"NAME" help:"Consumer group of the processors; the cache's group adds -cache, the gateways' -gateway, that of sql -sql (${default})."`
	DataDir            string   `default:"tidemark-data" placeholder:"DIR" help:"Directory of this node's stores, one per partition (${default})."`
	memberFlags        `group:"Group and standbys:"`
	NoBreaker          bool   `help:"Do not stop a partition when most records are bad, but copy them all to the dead letters. Use it after you have repaired the producer."`
	Producer           string `enum:"own,kgo" default:"own" hidden:"" placeholder:"NAME" help:"What encodes and sends output records: own (Tidemark) or kgo (the Kafka client's producer) (${default})."`
	Consumer           string `enum:"own,kgo" default:"own" hidden:"" placeholder:"NAME" help:"What fetches input records of partitions that are far behind: own (Tidemark) or kgo (the Kafka client's consumer) (${default})."`
	CheckChannels      int    `default:"0" placeholder:"N" help:"Derive N random channels a minute from the log again and compare them with what this node answers, at most 600; tidemark_badge_checked_total counts the outcomes, and the log names a channel that differs; 0 = none (${default})."`
	authFlags          `group:"Who may call:"`
	socketFlags        `group:"Sockets (with the role gateway):"`
	doorFlags          `group:"Listeners and limits of calls:"`
	auditFlags         `group:"Who may call:"`
	nodeSnapshotFlags  `group:"Snapshots:"`
	traceFlags         `group:"Traces:"`
	Listen             string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address for queries, health and metrics (${default})."`
	tlsFlags           `group:"Certificates of this node:"`
	UI                 bool          `name:"ui" help:"Serve the page at /: people with their channels, and a view for operators. It adds the role gateway, to which these people connect. With --auth-keys the page asks for a token of scope service."`
	Nodes              []string      `placeholder:"URL" help:"With --ui: nodes and gateways outside of the group, such as http://10.0.0.6:8081, which the view of all nodes shows too; it finds the members of the group by itself. A name with several addresses stands for all of them."`
	Advertise          string        `placeholder:"URL" help:"URL at which other nodes reach this one. By default http:// (with --tls-cert https://) and --listen, if that names a host."`
	Insecure           bool          `help:"Listen on an address that other machines can reach, without keys: anyone there may then read and publish as any user."`
	Memory             *config.Bytes `placeholder:"SIZE" help:"Memory limit that the heap, the block cache and the queue share, such as 4GiB; 0 = none. By default 80 % of what the cgroup of this process allows, or 1GiB if it has no limit."`
	HotMemory          config.Bytes  `default:"0" placeholder:"SIZE" help:"Part of --memory for channels, users and pairs, over all partitions; channels that no event has named for some time leave memory when it is full. ${default} = 3/5 of the heap without the block cache, or no limit with --memory 0."`
	LogFormat          string        `enum:"text,json" default:"text" placeholder:"FORMAT" help:"Form of log lines: text or json (${default})."`
	LogLevel           string        `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Lowest level of log lines: debug, info, warn or error (${default})."`
}

// memberFlags set how this node takes part in its group.
type memberFlags struct {
	Standbys   int    `default:"0" placeholder:"N" help:"Number of other nodes that follow each partition and can take over at once; the same on all nodes (${default})."`
	InstanceID string `name:"instance-id" placeholder:"NAME" help:"Unique name of this node in the group. A node that restarts with the same name within --session-timeout keeps its partitions, and nothing moves."`
	sessionFlags
	StoreRetention time.Duration `default:"24h" placeholder:"DURATION" help:"Keep a partition's store this long after the partition moved to another node; 0 keeps it forever (${default})."`
}

// nodeSnapshotFlags set where a node keeps its snapshots.
type nodeSnapshotFlags struct {
	Snapshots     string        `placeholder:"URL" help:"Where snapshots are written to and restored from: file:///dir, s3://bucket/prefix?endpoint=HOST:PORT&region=NAME, gs://bucket/prefix or az://account/container/prefix; keys come from the environment or from the machine's role."`
	SnapshotEvery time.Duration `default:"10m" placeholder:"DURATION" help:"Time between two snapshots of a partition; 0 = none are taken (${default})."`
	verbs.RetentionFlags
}

// open is the repository, nil if there is none.
func (f nodeSnapshotFlags) open(log *slog.Logger) (*snapshot.Repository, error) {
	if f.Snapshots == "" {
		return nil, nil
	}
	b, err := snapshot.OpenBucket(f.Snapshots)
	if err != nil {
		return nil, verbs.Usagef("--snapshots: %v", err)
	}
	return snapshot.New(b, snapshot.Options{Keep: f.SnapshotKeep, Grace: f.SnapshotGrace, Logger: log}), nil
}

// threadFlags say what the panel of threads lists.
type threadFlags struct {
	ThreadListing string `enum:"30d,always" default:"30d" placeholder:"30d|always" help:"How long a followed thread is listed after its last activity: 30d, or always (${default}). Stores do not depend on it; all nodes should have the same."`
}

func (f threadFlags) always() bool { return f.ThreadListing == "always" }

func (runCmd) Help() string {
	return `
Runs one node of a group. Start as many as you need, each with a data directory of its own. Everything that a node stores can be
rebuilt from the topics. SIGINT or SIGTERM stops it in order.

Example:

    tidemark topics create --brokers kafka-1:9092 --partitions 64 --replication-factor 3
    tidemark run --config /etc/tidemark.yml
    tidemark run --brokers kafka-1:9092 --redis redis://redis:6379 --data-dir /var/lib/tidemark \
        --listen 10.0.0.5:8080 --insecure --memory 4GiB --audit-log /var/log/tidemark/audit.ndjson`
}

// Validate checks the flags of this node.
func (c *runCmd) Validate() error {
	if err := c.checkCache(); err != nil {
		return err
	}
	if u, err := url.Parse(c.Advertise); c.Advertise != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		return fmt.Errorf("--advertise %q is not a URL of this node: write it as http://10.0.0.5:8080", c.Advertise)
	}
	for _, raw := range c.Nodes {
		if u, err := url.Parse(raw); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("--nodes %q is not a URL of a node: write it as http://10.0.0.6:8081", raw)
		}
	}
	switch {
	case len(c.Nodes) > 0 && !c.UI:
		return fmt.Errorf("--nodes is for the page's view of all nodes: add --ui")
	case c.Standbys < 0:
		return fmt.Errorf("--standbys %d: it cannot be negative", c.Standbys)
	case c.StoreRetention < 0:
		return fmt.Errorf("--store-retention %s: it cannot be negative", c.StoreRetention)
	case c.CheckChannels < 0 || c.CheckChannels > 600:
		return fmt.Errorf("--check-channels %d: it must be 0 to 600 channels a minute", c.CheckChannels)
	case c.SnapshotEvery < 0:
		return fmt.Errorf("--snapshot-every %s: it cannot be negative", c.SnapshotEvery)
	}
	if err := c.checkSession(); err != nil {
		return err
	}
	if err := c.checkSockets(); err != nil {
		return err
	}
	if err := c.checkDoors(); err != nil {
		return err
	}
	if err := c.checkTraces(); err != nil {
		return err
	}
	return c.Check()
}

// Run runs a node until it is interrupted.
func (c *runCmd) Run(a *verbs.App) error {
	level, err := obs.NewLevel(c.LogLevel)
	if err != nil {
		return err
	}
	log, err := obs.NewLoggerAt(a.Stderr, c.LogFormat, level)
	if err != nil {
		return err
	}
	nc := node.Config{Logger: log, LogLevel: level, Build: a.Build}
	for _, s := range c.settingsOf(a, &nc) {
		if err := s.set(); err != nil {
			return err
		}
	}
	nc.Memory, nc.HotMemory = c.memory(log), c.HotMemory
	if nc.Audit, err = c.openAudit(a, log); err != nil {
		return err
	}
	defer nc.Audit.Close()
	if nc.Listener, err = net.Listen("tcp", c.Listen); err != nil {
		return fmt.Errorf("cannot listen on %s (%w): name another address with --listen", c.Listen, err)
	}
	if err := c.openAdmin(&nc); err != nil {
		nc.CloseListeners()
		return err
	}
	if nc.Advertise = c.advertised(nc.Listener.Addr(), nc.TLS != nil); nc.Advertise == "" {
		log.Warn("other nodes cannot reach this one: the address in --listen works on this machine only; set --advertise", "listen", c.Listen)
	}
	n, err := node.New(a.Ctx, nc)
	if err != nil {
		nc.CloseListeners()
		return err
	}
	return n.Run(a.Ctx)
}

// setting is a part of a node's configuration.
type setting struct {
	name string
	set  func() error
}

// settingsOf returns the functions that fill in nc from the flags and the files that they name, in
// order. They open no listener, and call nobody except, for keys and revoked tokens, the addresses
// in the flags.
func (c *runCmd) settingsOf(a *verbs.App, nc *node.Config) []setting {
	nc.Group, nc.DataDir, nc.Settings, nc.ThreadsAlways, nc.Topics = c.Group, c.DataDir, c.Settings(), c.always(), c.Topics()
	nc.Standbys, nc.InstanceID, nc.SessionTimeout, nc.StoreRetention = c.Standbys, c.InstanceID, c.SessionTimeout, c.StoreRetention
	nc.ClientProduces, nc.ClientConsumes = c.Producer == "kgo", c.Consumer == "kgo"
	nc.NoBreaker, nc.SnapshotEvery, nc.Patience, nc.Gateway = c.NoBreaker, c.SnapshotEvery, verbs.Patience, c.gateway(c.Origins)
	nc.CheckChannels, nc.Traces, nc.Nodes = c.CheckChannels, c.traces(), c.Nodes
	nc.SQLFlush = sqlsink.Flush(c.SQLFlush)
	nc.RedisValues, nc.RedisKeys = c.RedisValues, c.RedisKeys
	return []setting{
		{"roles", func() (err error) { nc.Roles, nc.UI, err = c.roles(); return err }},
		{"login to Kafka", func() (err error) { nc.Kafka, err = c.Kafka(); return err }},
		{"login to the database", func() (err error) { nc.SQL, err = c.ForRole(a, nc.Roles); return err }},
		{"login to Redis", func() (err error) { nc.Redis, err = c.RedisConfig(a); return err }},
		{"records to skip", func() (err error) { nc.Skip, err = c.Skips(); return err }},
		{"keys of tokens", func() (err error) { nc.Verifier, err = c.guard(a.Ctx, nc.Logger, c.Listen, c.Insecure); return err }},
		{"place of snapshots", func() (err error) { nc.Snapshots, err = c.open(nc.Logger); return err }},
		{"certificates", func() (err error) { nc.TLS, nc.PeerTLS, err = c.tls(c.certificates(), nc.Logger); return err }},
		{"proof for other nodes", func() (err error) {
			nc.Peers, err = c.peers(a.Ctx, nc.Verifier, nc.TLS, nc.Roles, nc.Logger)
			return err
		}},
		{"limits of calls", func() error { return c.setDoors(nc, c.Insecure || nc.Verifier != nil) }},
	}
}

// roles returns the roles of the flags, with the roles that the page needs if there is one.
func (c *runCmd) roles() (config.Roles, *ui.Config, error) {
	roles, err := config.ParseRoles(c.Roles)
	if err != nil {
		return nil, nil, verbs.Usagef("--roles: %v", err)
	}
	if !c.UI {
		return roles, nil, nil
	}
	if !roles.Has(config.RoleQuery) {
		return nil, nil, verbs.Usagef("--ui needs the role query on its node, because the page queries it")
	}
	if !roles.Has(config.RoleGateway) {
		roles = append(roles, config.RoleGateway)
	}
	return roles, &ui.Config{}, nil
}

// memory returns the limit to divide.
func (c *runCmd) memory(log *slog.Logger) config.Bytes {
	if c.Memory != nil {
		return *c.Memory
	}
	limit, why := config.MemoryByDefault(os.DirFS("/"))
	log.Info("memory limit", "limit", limit.String(), "why", why)
	return limit
}

// advertised is the URL of this node: that of --advertise, or that of its listener. It is empty if
// the listener has no address of its own.
func (c *runCmd) advertised(bound net.Addr, secure bool) string {
	if c.Advertise != "" {
		return c.Advertise
	}
	host, _, err := net.SplitHostPort(c.Listen)
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
