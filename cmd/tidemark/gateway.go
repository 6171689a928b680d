package main

import (
	"fmt"
	"net"
	"time"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/projections"
)

// gatewayCmd runs a node that serves sockets and forwards queries.
type gatewayCmd struct {
	verbs.ConfigFlags
	verbs.BrokersFlags `group:"Kafka:"`
	tlsFlags           `group:"Certificates of this gateway:"`
	verbs.TopicsFlags  `group:"Kafka:"`
	verbs.RedisFlags   `group:"Redis:"`
	authFlags          `group:"Who may call:"`
	sessionFlags
	socketFlags  `group:"Sockets:"`
	doorFlags    `group:"Listeners and limits of calls:"`
	auditFlags   `group:"Who may call:"`
	traceFlags   `group:"Traces:"`
	Group        string `default:"tidemark" placeholder:"NAME" help:"Consumer group of the processors, whose members the gateway calls; the gateways' own group adds -gateway (${default})."`
	Listen       string `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Address for sockets, queries, health and metrics (${default})."`
	Insecure     bool   `help:"Listen on an address that other machines can reach, without keys: anyone there may then be any user."`
	ReceiptLimit uint32 `default:"50" placeholder:"N" help:"The processors' --receipt-limit (${default}): channels with more members get no delivery receipts."`
	LogFormat    string `enum:"text,json" default:"text" placeholder:"FORMAT" help:"Form of log lines: text or json (${default})."`
	LogLevel     string `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Lowest level of log lines: debug, info, warn or error (${default})."`
}

// socketFlags are the flags of the role gateway, for every verb that runs it.
type socketFlags struct {
	limitFlags
	DrainFor    time.Duration `default:"5s" placeholder:"DURATION" help:"How long a stopping gateway takes to close its connections, so that clients reconnect elsewhere (${default})."`
	PresenceTTL time.Duration `name:"presence-ttl" default:"30s" placeholder:"DURATION" help:"How long users still count as connected after their gateway died (${default})."`
	QueueWithin time.Duration `default:"5m" placeholder:"DURATION" help:"Report a message as queued for offline members only if its record is at most this old (${default}), so that imported history is not reported."`
	NoPreviews  bool          `help:"Leave message text out of all frames."`
}

func (f *socketFlags) checkSockets() error {
	if f.DrainFor < 0 || f.PresenceTTL < 3*time.Second {
		return fmt.Errorf("--drain-for cannot be negative, and --presence-ttl is at least 3s")
	}
	if f.QueueWithin <= 0 {
		return fmt.Errorf("--queue-within %s: it must be above 0", f.QueueWithin)
	}
	return f.check()
}

// gateway returns the configuration of the flags.
func (f *socketFlags) gateway(origins []string) gateway.Config {
	return gateway.Config{
		Origins: origins, Limits: f.limits(), DrainFor: f.DrainFor, PresenceTTL: f.PresenceTTL,
		QueueWithin: f.QueueWithin, PreviewsOff: f.NoPreviews,
	}
}

// limitFlags bound the cost of one client.
type limitFlags struct {
	FrameBytes        config.Bytes  `default:"64KiB" placeholder:"SIZE" help:"Largest frame of a client (${default})."`
	MaxFocused        int           `default:"128" placeholder:"N" help:"Channels that one connection may have focused (${default})."`
	SendQueue         config.Bytes  `default:"1MiB" placeholder:"SIZE" help:"Bytes that may wait for one connection before it is closed as too slow (${default})."`
	WriteTimeout      time.Duration `default:"1s" placeholder:"DURATION" help:"How long a client may take to read 64 KiB (${default})."`
	PingEvery         time.Duration `default:"25s" placeholder:"DURATION" help:"Time between two pings (${default})."`
	FrameRate         float64       `default:"50" placeholder:"N" help:"Frames a second that one user may send (${default})."`
	FrameBurst        int           `default:"200" placeholder:"N" help:"Frames that one user may send at once (${default})."`
	AddressFrameRate  float64       `default:"2000" placeholder:"N" help:"Frames a second from one address, over all its users (${default}). Raise it behind a load balancer, whose address all clients share."`
	AddressFrameBurst int           `default:"8000" placeholder:"N" help:"Frames at once from one address (${default})."`
	HandshakeRate     float64       `default:"20" placeholder:"N" help:"New connections a second from one address, and of one user (${default}). Raise it behind a load balancer, whose address all clients share."`
	HandshakeBurst    int           `default:"100" placeholder:"N" help:"New connections at once from one address, and of one user (${default})."`
	MaxConnections    int           `default:"20000" placeholder:"N" help:"Connections of this gateway (${default})."`
	ConnectionsUser   int           `name:"connections-per-user" default:"32" placeholder:"N" help:"Connections of one user (${default})."`
}

func (f *limitFlags) limits() gateway.Limits {
	return gateway.Limits{
		FrameBytes: int(f.FrameBytes), Focused: f.MaxFocused, QueueBytes: int(f.SendQueue), WriteTimeout: f.WriteTimeout,
		PingEvery: f.PingEvery, FramesPerSecond: f.FrameRate, FramesBurst: f.FrameBurst,
		AddressFramesPerSecond: f.AddressFrameRate, AddressFramesBurst: f.AddressFrameBurst, HandshakesPerSecond: f.HandshakeRate,
		HandshakesBurst: f.HandshakeBurst, Connections: f.MaxConnections, PerUser: f.ConnectionsUser,
		InboxBytes: int(f.SendQueue) * 3 / 4,
	}
}

func (f *limitFlags) check() error {
	for name, n := range map[string]float64{
		"frame-bytes": float64(f.FrameBytes), "max-focused": float64(f.MaxFocused), "send-queue": float64(f.SendQueue),
		"write-timeout": float64(f.WriteTimeout), "ping-every": float64(f.PingEvery), "frame-rate": f.FrameRate,
		"frame-burst": float64(f.FrameBurst), "address-frame-rate": f.AddressFrameRate, "address-frame-burst": float64(f.AddressFrameBurst),
		"handshake-rate": f.HandshakeRate, "handshake-burst": float64(f.HandshakeBurst),
		"max-connections": float64(f.MaxConnections), "connections-per-user": float64(f.ConnectionsUser),
	} {
		if n <= 0 {
			return fmt.Errorf("--%s must be above 0", name)
		}
	}
	return nil
}

// Help is shown below the flags.
func (gatewayCmd) Help() string {
	return `
Serves WebSockets at /v1/socket: live counts, read pointers, messages and receipts for one device each. Start as many as you need
behind a load balancer. A gateway stores nothing: it forwards queries to the nodes that own the channels. docs/gateway.md has
every frame.

Example:

    tidemark gateway --brokers kafka-1:9092 --redis redis://redis:6379 --listen 10.0.0.6:8081 \
        --auth-keys https://id.example.com/jwks --auth-issuer https://id.example.com --peer-secret-file /etc/tidemark/peers \
        --origins https://chat.example.com --audit-log /var/log/tidemark/audit.ndjson`
}

// Validate checks the limits.
func (c *gatewayCmd) Validate() error {
	if err := c.checkSession(); err != nil {
		return err
	}
	if err := c.checkSockets(); err != nil {
		return err
	}
	if err := c.checkTraces(); err != nil {
		return err
	}
	return c.checkDoors()
}

// Run runs a gateway until it is interrupted.
func (c *gatewayCmd) Run(a *verbs.App) error {
	level, err := obs.NewLevel(c.LogLevel)
	if err != nil {
		return err
	}
	log, err := obs.NewLoggerAt(a.Stderr, c.LogFormat, level)
	if err != nil {
		return err
	}
	kafka, err := c.Kafka()
	if err != nil {
		return err
	}
	redis, err := c.RedisConfig(a)
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
	served, peers, err := c.tls(c.certificates(), log)
	if err != nil {
		return err
	}
	roles := config.Roles{config.RoleQuery, config.RoleGateway}
	proof, err := c.peers(a.Ctx, verifier, served, roles, log)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (%w): name another address with --listen", c.Listen, err)
	}
	settings := projections.DefaultSettings()
	settings.ReceiptLimit = c.ReceiptLimit
	nc := node.Config{
		Roles: roles, Kafka: kafka, Redis: redis, Group: c.Group, Topics: c.Topics(),
		Settings: settings, Listener: ln, TLS: served, PeerTLS: peers, Patience: verbs.Patience, Build: a.Build, Logger: log, LogLevel: level,
		Verifier: verifier, SessionTimeout: c.SessionTimeout,
		Peers: proof, Audit: auditLog, Gateway: c.gateway(c.Origins), Traces: c.traces(),
	}
	if err = c.setDoors(&nc, c.Insecure || verifier != nil); err == nil {
		err = c.openAdmin(&nc)
	}
	if err != nil {
		nc.CloseListeners()
		return err
	}
	n, err := node.New(a.Ctx, nc)
	if err != nil {
		nc.CloseListeners()
		return err
	}
	return n.Run(a.Ctx)
}
