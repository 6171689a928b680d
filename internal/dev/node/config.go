package node

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/ui"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Config says what a node is. Roles, Kafka, Listener and Logger must be set; Group, DataDir and Settings for the roles
// processor and query; Redis for the role cache.
type Config struct {
	Roles config.Roles
	Kafka config.Kafka
	Redis config.Redis
	// Topics names inputs and outputs. An empty one is that of package events.
	Topics processor.Topics
	// Group is the consumer group of the processors. The role cache has a group of its own, Group + "-cache", and so
	// has the role gateway, Group + "-gateway".
	Group    string
	DataDir  string
	Settings projections.Settings
	// Skip, Standbys, InstanceID, SessionTimeout and StoreRetention are as in processor.Config.
	Skip           []processor.RecordID
	Standbys       int
	InstanceID     string
	SessionTimeout time.Duration
	StoreRetention time.Duration
	// NoBreaker folds on however many records are bad: they go to the dead letters.
	NoBreaker bool
	// Snapshots and SnapshotEvery are as in processor.Config.
	Snapshots     *snapshot.Repository
	SnapshotEvery time.Duration
	// Advertise is the URL at which other nodes reach this one's queries; empty: they cannot.
	Advertise string
	// Listener is where HTTP is served. The node closes it.
	Listener net.Listener
	// TLS, if set, is what it is served with.
	TLS *tls.Config
	// PeerTLS, if set, is how other nodes are talked to whose URLs are https.
	PeerTLS *tls.Config
	// Memory is the limit that the process shares out (config.Memory); 0: none, and each part has its own default.
	Memory config.Bytes
	// UI, if set, serves the page at / and /ui/. The node fills in what it knows itself: all but Demo and About.Dev. It
	// needs the role query, and its people connect to the role gateway.
	UI *ui.Config

	// Verifier judges the tokens of callers of queries and sockets; nil: there are no keys.
	Verifier *auth.Verifier
	// Gateway says what the role gateway is; what is the node's own (brokers, topics, queries, Redis, metrics) is filled
	// in. All of it may be zero.
	Gateway gateway.Config

	// Patience bounds how long the brokers may take to answer when the node starts; 10 s by default.
	Patience time.Duration
	// StopTimeout bounds a graceful stop; 30 s by default.
	StopTimeout time.Duration

	Build  obs.Build
	Logger *slog.Logger
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
		return c, errors.New("the role gateway needs the role query on its node: it asks there")
	case c.UI != nil && !c.Roles.Has(config.RoleQuery):
		return c, errors.New("the page needs the role query on its node: it asks there")
	}
	if c.Patience == 0 {
		c.Patience = 10 * time.Second
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = 30 * time.Second
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
