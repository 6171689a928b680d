package node

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/app/ui"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/trace/otlp"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/snapshot"
	"github.com/tidemark/tidemark/sqlsink"
)

// Config configures a node. Roles, Kafka, Listener and Logger must be set; Group, DataDir and
// Settings for the roles processor and query; Redis for the role cache.
type Config struct {
	Roles config.Roles
	Kafka config.Kafka
	Redis config.Redis
	// Topics names inputs and outputs. An empty one is that of package events.
	Topics processor.Topics
	// Group is the consumer group of the processors. The role cache has a group of its own, Group +
	// "-cache", and so has the role gateway, Group + "-gateway".
	Group    string
	DataDir  string
	Settings projections.Settings
	// Skip, Standbys, InstanceID and StoreRetention are as in processor.Config. So is
	// SessionTimeout, for every group that the node is a member of.
	Skip           []events.RecordID
	Standbys       int
	InstanceID     string
	SessionTimeout time.Duration
	StoreRetention time.Duration
	// ClientProduces leaves the producing of output records to the Kafka client's own producer.
	ClientProduces bool
	// ClientConsumes leaves the fetching of input records to the Kafka client's own consumer.
	ClientConsumes bool
	// NoBreaker keeps folding when most records are bad; they go to the dead letters.
	NoBreaker bool
	// CheckChannels is how many random channels a minute are derived from the log again and
	// compared with what the node answers (package recheck); 0: none.
	CheckChannels int
	// Snapshots and SnapshotEvery are as in processor.Config.
	Snapshots     *snapshot.Repository
	SnapshotEvery time.Duration
	// Advertise is the URL at which other nodes reach this one's queries; empty: they cannot.
	Advertise string
	// Listener serves HTTP. The node closes it.
	Listener net.Listener
	// AdminListener, if set, serves /metrics, /admin/ and profiles, and Listener then does not. The
	// node closes it.
	AdminListener net.Listener
	// Edge is the common configuration of all listeners. The node fills in Keys, Refused,
	// Registerer and Logger.
	Edge edge.Config
	// Audit is the audit log; nil: there is none. The code that opened it closes it, after the
	// node.
	Audit *audit.Log
	// Limits bound the cost of callers of queries and ingest. Bodies is an eighth of Memory by
	// default.
	Limits query.Limits
	// TLS, if set, configures the listener.
	TLS *tls.Config
	// PeerTLS, if set, configures calls to other nodes whose URLs are https.
	PeerTLS *tls.Config
	// FS is the file system of the stores; nil: the operating system's.
	FS vfs.FS
	// Memory is the limit that the process divides (config.Memory); 0: none, and each part has its
	// own default.
	Memory config.Bytes
	// HotMemory limits the memory of channels, users and pairs; 0: the share of Memory.
	HotMemory config.Bytes
	// ThreadsAlways lists followed threads whatever their age, where 30 days is usual (DESIGN
	// §4.7). All nodes of a group should have the same.
	ThreadsAlways bool
	// RedisValues and RedisKeys are as Values and Keys in cache.Config.
	RedisValues string
	RedisKeys   []string
	// SQL is the database of the role sql, and SQLFlush the rule for its writes.
	SQL      *sqlsink.Address
	SQLFlush sqlsink.Flush
	// UI, if set, serves the page at / and /ui/. The node fills in all fields but Demo and
	// About.Dev. The page needs the role query, and its users connect to the role gateway.
	UI *ui.Config
	// Nodes are URLs of nodes that are no members of the group, such as gateways: the page's view
	// of all nodes asks them too.
	Nodes []string

	// Traces says where the spans of events and calls go; without an Endpoint there are none. The
	// node fills in all fields but Endpoint, Sample and Every.
	Traces otlp.Config

	// Verifier judges the tokens of callers of queries and sockets; nil: there are no keys.
	Verifier *auth.Verifier
	// Peers is this node's proof for other nodes. Its relay keys are the node's own.
	Peers peer.Proof
	// Gateway configures the role gateway. The node fills in its own parts (brokers, topics,
	// queries, Redis, metrics). All fields may be zero.
	Gateway gateway.Config

	// Patience bounds how long the brokers may take to answer when the node starts; 10 s by
	// default.
	Patience time.Duration
	// StopTimeout is how long a graceful stop of all parts together may take; by default 10 s, plus
	// the excess of Gateway.DrainFor over 5 s. A second or two later, unfinished work is left as it
	// is.
	StopTimeout time.Duration

	Build  obs.Build
	Logger *slog.Logger
	// LogLevel is the level of Logger. If it is set, operators may change it while the node runs.
	LogLevel *obs.Level
}

// CloseListeners closes the listeners of a node that could not be made.
func (c *Config) CloseListeners() {
	for _, l := range []net.Listener{c.Listener, c.AdminListener} {
		if l != nil {
			_ = l.Close() // it was never used
		}
	}
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Roles) == 0:
		return c, errors.New("node: no roles")
	case c.Listener == nil:
		return c, errors.New("node: no listener")
	case c.Logger == nil:
		return c, errors.New("node: no logger")
	case c.Group == "":
		return c, errors.New("node: no group")
	case c.Roles.Has(config.RoleGateway) && !c.Roles.Has(config.RoleQuery):
		return c, errors.New("the role gateway needs the role query on its node, which answers its reads")
	case c.UI != nil && !c.Roles.Has(config.RoleQuery):
		return c, errors.New("the page needs the role query on its node, which answers its reads")
	}
	if c.Patience == 0 {
		c.Patience = 10 * time.Second
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = 10*time.Second + max(0, c.Gateway.DrainFor-5*time.Second)
	}
	t := &c.Topics
	for i := range t.Inputs {
		if t.Inputs[i] == "" {
			t.Inputs[i] = events.InputTopics[i]
		}
	}
	for _, d := range []struct {
		name *string
		is   string
	}{{&t.Unread, events.TopicUnread}, {&t.Channels, events.TopicChannels}, {&t.Receipts, events.TopicReceipts}, {&t.DeadLetters, events.TopicDeadLetters}} {
		if *d.name == "" {
			*d.name = d.is
		}
	}
	return c, nil
}
