package main

import (
	"fmt"
	"net"
	"time"

	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/dev/node"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
)

// gatewayCmd is a node that serves sockets, and queries by forwarding them.
type gatewayCmd struct {
	brokersFlags
	tlsFlags
	topicsFlags
	redisFlags
	authFlags
	socketFlags
	Group        string `default:"tidemark" placeholder:"NAME" help:"Consumer group of the processors, whose members are asked; the gateways' own is this with -gateway at its end (${default})."`
	Listen       string `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Where sockets, queries, health and metrics are served (${default})."`
	Insecure     bool   `help:"Listen where other machines can reach this node although there are no keys: everyone there may then be any user."`
	ReceiptLimit uint32 `default:"50" placeholder:"N" help:"As of the processors (${default}): members above which nothing is said about deliveries."`
	LogFormat    string `enum:"text,json" default:"text" placeholder:"FORMAT" help:"Form of log lines: text or json (${default})."`
	LogLevel     string `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Least level of log lines: debug, info, warn or error (${default})."`
}

// socketFlags are those of the role gateway, whichever verb runs it.
type socketFlags struct {
	limitFlags
	DrainFor    time.Duration `default:"5s" placeholder:"DURATION" help:"Over how long connections are sent elsewhere when the gateway stops (${default})."`
	PresenceTTL time.Duration `name:"presence-ttl" default:"30s" placeholder:"DURATION" help:"How long users of a gateway that died are taken to be connected (${default})."`
	NoPreviews  bool          `help:"Leave message text out of all frames."`
}

func (f *socketFlags) checkSockets() error {
	if f.DrainFor < 0 || f.PresenceTTL < 3*time.Second {
		return fmt.Errorf("--drain-for cannot be negative, nor --presence-ttl below 3s")
	}
	return f.check()
}

// gateway is the configuration that they come to.
func (f *socketFlags) gateway(token string, origins []string) gateway.Config {
	return gateway.Config{
		ServiceToken: token, Origins: origins, Limits: f.limits(), DrainFor: f.DrainFor, PresenceTTL: f.PresenceTTL,
		PreviewsOff: f.NoPreviews,
	}
}

// limitFlags bound what one client can cost.
type limitFlags struct {
	FrameBytes        config.Bytes  `default:"64KiB" placeholder:"SIZE" help:"Largest frame of a client (${default})."`
	MaxFocused        int           `default:"128" placeholder:"N" help:"Channels that one connection may have focused (${default})."`
	SendQueue         config.Bytes  `default:"1MiB" placeholder:"SIZE" help:"What may wait for one connection, before it is closed as too slow (${default})."`
	WriteTimeout      time.Duration `default:"1s" placeholder:"DURATION" help:"How long a client may leave 64 KiB untaken (${default})."`
	PingEvery         time.Duration `default:"25s" placeholder:"DURATION" help:"Time between two pings (${default})."`
	FrameRate         float64       `default:"50" placeholder:"N" help:"Frames a second that one user may send (${default})."`
	FrameBurst        int           `default:"200" placeholder:"N" help:"Frames that one user may send at once (${default})."`
	AddressFrameRate  float64       `default:"2000" placeholder:"N" help:"Frames a second from one address, over all its users (${default}). Behind a load balancer all have its address: raise it."`
	AddressFrameBurst int           `default:"8000" placeholder:"N" help:"Frames at once from one address (${default})."`
	HandshakeRate     float64       `default:"20" placeholder:"N" help:"Connections a second from one address, and of one user (${default}). Behind a load balancer all have its address: raise it."`
	HandshakeBurst    int           `default:"100" placeholder:"N" help:"Connections at once from one address, and of one user (${default})."`
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
			return fmt.Errorf("--%s has to be more than nothing", name)
		}
	}
	return nil
}

// Help is shown below the flags.
func (gatewayCmd) Help() string {
	return `
Serves WebSockets at /v1/socket: live counts, read pointers, messages and receipts for one device each. Start as many as
are wanted behind a load balancer. It keeps nothing: queries are forwarded to the nodes that own the channels. docs/gateway.md
has every frame.

Example:

    tidemark gateway --brokers kafka-1:9092 --redis redis://redis:6379 --listen 10.0.0.6:8081 \
        --auth-keys https://id.example.com/jwks --auth-issuer https://id.example.com --origins https://chat.example.com`
}

// Validate checks the limits.
func (c *gatewayCmd) Validate() error {
	return c.checkSockets()
}

// Run runs a gateway until it is told to stop.
func (c *gatewayCmd) Run(a *app) error {
	log, err := obs.NewLogger(a.stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	kafka, err := c.kafka()
	if err != nil {
		return err
	}
	redis, err := c.redis(a)
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
	served, peers, err := c.tls(log)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (%w): name another address with --listen", c.Listen, err)
	}
	settings := projections.DefaultSettings()
	settings.ReceiptLimit = c.ReceiptLimit
	n, err := node.New(a.ctx, node.Config{
		Roles: config.Roles{config.RoleQuery, config.RoleGateway}, Kafka: kafka, Redis: redis, Group: c.Group, Topics: c.topics(),
		Settings: settings, Listener: ln, TLS: served, PeerTLS: peers, Patience: patience, Build: a.build, Logger: log,
		Verifier: verifier, StopTimeout: c.DrainFor + 10*time.Second,
		Gateway: c.gateway(token, c.Origins),
	})
	if err != nil {
		ln.Close()
		return err
	}
	return n.Run(a.ctx)
}
