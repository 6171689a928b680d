package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/node"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/ui"
	"github.com/tidemark/tidemark/internal/verbs"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

type runCmd struct {
	verbs.ConfigFlags
	verbs.TopicsFlags  `group:"Kafka:"`
	verbs.BrokersFlags `group:"Kafka:"`
	verbs.RedisFlags   `group:"Redis:"`
	foldFlags          `group:"Counting (the same on all nodes):"`
	threadFlags        `group:"Counting (the same on all nodes):"`
	verbs.SkipFlags    `group:"Counting (the same on all nodes):"`
	Roles              []string `default:"processor,cache,query" placeholder:"ROLE" help:"Roles of this node: processor (folds and publishes), cache (fills Redis), query (answers queries, takes events), gateway (sockets; needs query) (${default})."`
	Group              string   `default:"tidemark" placeholder:"NAME" help:"Consumer group of the processors; the cache's group adds -cache, the gateways' -gateway (${default})."`
	DataDir            string   `default:"tidemark-data" placeholder:"DIR" help:"Directory of this node's stores, one per partition (${default})."`
	memberFlags        `group:"Group and standbys:"`
	NoBreaker          bool `help:"Do not stop a partition when most records are bad, but copy them all to the dead letters. Use it after you have repaired the producer."`
	authFlags          `group:"Who may ask:"`
	socketFlags        `group:"Sockets (with the role gateway):"`
	doorFlags          `group:"Listeners and limits of calls:"`
	auditFlags         `group:"Who may ask:"`
	nodeSnapshotFlags  `group:"Snapshots:"`
	Listen             string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where queries, health and metrics are served (${default})."`
	tlsFlags           `group:"Certificates of this node:"`
	UI                 bool          `name:"ui" help:"Serve the page at /: people with their channels, and a view for operators. It adds the role gateway, to which these people connect. With --auth-keys it asks for a token of scope service."`
	Advertise          string        `placeholder:"URL" help:"URL at which other nodes reach this one. By default http:// (with --tls-cert https://) and --listen, if that names a host."`
	Insecure           bool          `help:"Listen on an address that other machines can reach, without keys: anyone there may then read and publish as any user."`
	Memory             *config.Bytes `placeholder:"SIZE" help:"Memory limit that the heap, the block cache and the queue share, such as 4GiB; 0 = none. By default 80 % of what the cgroup of this process allows, or 1GiB where nothing limits it."`
	LogFormat          string        `enum:"text,json" default:"text" placeholder:"FORMAT" help:"Form of log lines: text or json (${default})."`
	LogLevel           string        `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Least level of log lines: debug, info, warn or error (${default})."`
}

// memberFlags set how this node takes part in its group.
type memberFlags struct {
	Standbys   int    `default:"0" placeholder:"N" help:"How many other nodes follow each partition, ready to take over at once; the same on all nodes (${default})."`
	InstanceID string `name:"instance-id" placeholder:"NAME" help:"Unique name of this node in the group. A node that restarts with the same name within --session-timeout keeps its partitions, and nothing moves."`
	sessionFlags
	StoreRetention time.Duration `default:"24h" placeholder:"DURATION" help:"Keep a partition's store this long after the partition moved to another node; 0 keeps it forever (${default})."`
}

// nodeSnapshotFlags set where a node keeps its snapshots.
type nodeSnapshotFlags struct {
	Snapshots     string        `placeholder:"URL" help:"Where snapshots are written to and restored from: file:///dir or s3://bucket/prefix?endpoint=HOST:PORT&region=NAME; keys for S3 come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the machine's role."`
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

// foldFlags are the settings of the fold. A store that was folded with other settings is refused.
type foldFlags struct {
	FanoutLimit  uint32 `default:"50" placeholder:"N" help:"Members above which a channel's messages make no delta for each member; 0 = never (${default})."`
	ReceiptLimit uint32 `default:"50" placeholder:"N" help:"Members above which a message has no receipts of its own (${default})."`

	SendMarksRead  bool       `default:"true" placeholder:"BOOL" help:"Sending a message marks the channel as read up to it (${default}); --send-marks-read=false leaves the pointer where it is."`
	IndexRetention wholeHours `default:"2160h" placeholder:"DURATION" help:"How long after a message events can name it by its id, in log time and whole hours (${default}, 90 days)."`
}

// threadFlags say what the panel of threads lists.
type threadFlags struct {
	ThreadListing string `enum:"30d,always" default:"30d" placeholder:"30d|always" help:"How long a followed thread stays in the panel after it was last touched: 30d, or always (${default}). It is no part of a store; all nodes should have the same."`
}

func (f threadFlags) always() bool { return f.ThreadListing == "always" }

func (f foldFlags) settings() projections.Settings {
	return projections.Settings{
		FanoutLimit: f.FanoutLimit, ReceiptLimit: f.ReceiptLimit, SendMarksRead: f.SendMarksRead,
		IndexRetention: time.Duration(f.IndexRetention).Milliseconds(),
	}
}

// wholeHours is a positive duration of whole hours, the unit in which nodes publish their settings.
type wholeHours time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (h *wholeHours) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	if d <= 0 || d%time.Hour != 0 {
		return fmt.Errorf("%s: must be a positive number of whole hours, such as 2160h", text)
	}
	*h = wholeHours(d)
	return nil
}

func (runCmd) Help() string {
	return `
Runs one node of a group; start as many as are wanted, each with a data directory of its own. Everything that a node keeps
can be rebuilt from the topics. SIGINT or SIGTERM stops it in order.

Example:

    tidemark topics create --brokers kafka-1:9092 --partitions 64 --replication-factor 3
    tidemark run --config /etc/tidemark.yml
    tidemark run --brokers kafka-1:9092 --redis redis://redis:6379 --data-dir /var/lib/tidemark \
        --listen 10.0.0.5:8080 --insecure --memory 4GiB --audit-log /var/log/tidemark/audit.ndjson`
}

// Validate checks the flags of this node.
func (c *runCmd) Validate() error {
	if u, err := url.Parse(c.Advertise); c.Advertise != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		return fmt.Errorf("--advertise %q is not a URL of this node: write it as http://10.0.0.5:8080", c.Advertise)
	}
	switch {
	case c.Standbys < 0:
		return fmt.Errorf("--standbys %d: it cannot be negative", c.Standbys)
	case c.StoreRetention < 0:
		return fmt.Errorf("--store-retention %s: it cannot be negative", c.StoreRetention)
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
	return c.Check()
}

// Run runs a node until it is told to stop.
func (c *runCmd) Run(a *verbs.App) error {
	roles, err := config.ParseRoles(c.Roles)
	if err != nil {
		return verbs.Usagef("--roles: %v", err)
	}
	var page *ui.Config
	if c.UI {
		if !roles.Has(config.RoleQuery) {
			return verbs.Usagef("--ui needs the role query on its node: the page asks there")
		}
		if !roles.Has(config.RoleGateway) {
			roles = append(roles, config.RoleGateway)
		}
		page = &ui.Config{}
	}
	kafka, err := c.Kafka()
	if err != nil {
		return err
	}
	redis, err := c.RedisConfig(a)
	if err != nil {
		return err
	}
	skip, err := c.Skips()
	if err != nil {
		return err
	}
	log, err := obs.NewLogger(a.Stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	verifier, err := c.guard(a.Ctx, log, c.Listen, c.Insecure)
	if err != nil {
		return err
	}
	auditLog, err := c.openAudit(a, log)
	if err != nil {
		return err
	}
	defer auditLog.Close()
	snapshots, err := c.open(log)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (%w): name another address with --listen", c.Listen, err)
	}
	served, peers, err := c.tls(c.certificates(), log)
	if err != nil {
		ln.Close()
		return err
	}
	proof, err := c.peers(a.Ctx, verifier, served, roles, log)
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
	nc := node.Config{
		Roles: roles, Kafka: kafka, Redis: redis, Group: c.Group, DataDir: c.DataDir, Settings: c.settings(), ThreadsAlways: c.always(), Skip: skip, Topics: c.Topics(),
		Standbys: c.Standbys, InstanceID: c.InstanceID, SessionTimeout: c.SessionTimeout, StoreRetention: c.StoreRetention, NoBreaker: c.NoBreaker,
		Snapshots: snapshots, SnapshotEvery: c.SnapshotEvery, Advertise: advertise, Listener: ln, TLS: served, PeerTLS: peers, Memory: c.memory(log), Patience: verbs.Patience, Build: a.Build, Logger: log,
		Verifier: verifier, Peers: proof, Audit: auditLog, Gateway: c.gateway(c.Origins), UI: page,
	}
	if err := c.openDoors(&nc, c.Insecure || verifier != nil); err != nil {
		ln.Close()
		return err
	}
	n, err := node.New(a.Ctx, nc)
	if err != nil {
		nc.CloseListeners()
		return err
	}
	return n.Run(a.Ctx)
}

// memory is the limit to share out.
func (c *runCmd) memory(log *slog.Logger) config.Bytes {
	if c.Memory != nil {
		return *c.Memory
	}
	limit, why := config.MemoryByDefault(os.DirFS("/"))
	log.Info("memory limit", "limit", limit.String(), "why", why)
	return limit
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
