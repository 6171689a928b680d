package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/obs"
)

// Config configures an edge. Zero values stand for the defaults named here.
type Config struct {
	// MaxConnections bounds the connections of a listener, sockets among them. 0: Connections(0).
	MaxConnections int
	// TrustedProxies are the networks of proxies whose X-Forwarded-For or Forwarded names a
	// request's origin.
	TrustedProxies []netip.Prefix
	// Keys means that callers need tokens. Without keys, the edge answers only requests for hosts
	// that no other site can make up: addresses, localhost, Hosts, and, if other machines reach the
	// listener, names without a dot.
	Keys  bool
	Hosts []string

	// ReadTimeout bounds the arrival of a request, its body included; 30 s. WriteTimeout bounds the
	// answer; 30 s. HeaderTimeout bounds TLS handshakes and headers; 5 s. IdleTimeout bounds the
	// time between two requests; 2 min.
	ReadTimeout, WriteTimeout, HeaderTimeout, IdleTimeout time.Duration

	// Refused is called with the caller's error for each request that is refused for its host; it
	// may be nil.
	Refused func(r *http.Request, why string)

	Registerer prometheus.Registerer // nil: none
	Logger     *slog.Logger          // nil: nowhere
}

func (c Config) withDefaults() Config {
	if c.MaxConnections == 0 {
		c.MaxConnections = Connections(0)
	}
	for _, d := range []struct {
		v  *time.Duration
		is time.Duration
	}{{&c.ReadTimeout, 30 * time.Second}, {&c.WriteTimeout, 30 * time.Second}, {&c.HeaderTimeout, 5 * time.Second}, {&c.IdleTimeout, 2 * time.Minute}} {
		if *d.v == 0 {
			*d.v = d.is
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Server serves one listener.
type Server struct {
	cfg  Config
	http *http.Server
	door *door
	log  *obs.Seldom
}

// New makes a server of h. name is a label of its metrics; two servers with one Registerer need
// different ones.
func New(c Config, name string, h http.Handler) *Server {
	c = c.withDefaults()
	m := newMetrics(c.Registerer, name)
	s := &Server{cfg: c, log: obs.NewSeldom(c.Logger, nil)}
	s.door = newDoor(c.MaxConnections, m, s.log)
	s.http = NewServer(nil)
	s.http.ReadTimeout, s.http.WriteTimeout, s.http.ReadHeaderTimeout, s.http.IdleTimeout = c.ReadTimeout, c.WriteTimeout, c.HeaderTimeout, c.IdleTimeout
	s.http.ErrorLog = newErrorLog(s.log)
	s.http.ConnState = func(c net.Conn, state http.ConnState) {
		if err := guard.Do("counting idle connections", func() { s.door.state(c, state) }); err != nil {
			_ = guard.Do("logging it", func() { s.log.Warn("a connection may count as idle that is not", guard.Attrs(err)...) })
		}
	}
	s.http.Handler = s.chain(h, m)
	return s
}

// chain puts the layers of the package around h.
func (s *Server) chain(h http.Handler, m *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = obs.WithRequestID(w, r)
		if !s.cfg.Keys && !s.hostAllowed(r) {
			m.refused.WithLabelValues(refusedHost).Inc()
			s.log.Warn("a request was refused", "why", "host", "host", bounded(r.Host), "from", r.RemoteAddr, "request_id", obs.RequestID(r.Context()))
			if s.cfg.Refused != nil {
				s.cfg.Refused(fromClient(r, s.cfg.TrustedProxies), unknownHost)
			}
			refuseHost(w)
			return
		}
		h.ServeHTTP(w, fromClient(r, s.cfg.TrustedProxies))
	})
}

// Listener returns l with the edge's bound on connections. Serve uses it.
func (s *Server) Listener(l net.Listener) net.Listener {
	s.door.Listener = l
	return s.door
}

// Serve accepts connections from l, with TLS if there is a configuration, until Shutdown or Close.
// It closes l.
func (s *Server) Serve(l net.Listener, c *tls.Config) error {
	serve := s.http.Serve
	if c != nil {
		s.http.TLSConfig = c
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	if err := serve(s.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown accepts no more connections and waits for the calls in progress, like http.Server's.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// Close cuts off the calls in progress.
func (s *Server) Close() error { return s.http.Close() }

// NewServer makes an HTTP server for h with the deadlines that a public port needs; the defaults
// are those of Config. It speaks HTTP/1.1 and HTTP/2, also without TLS (for gRPC clients and other
// nodes). A handler that streams its answer moves the deadlines (Lasting, or
// http.ResponseController).
func NewServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	c := Config{MaxConnections: 1}.withDefaults()
	return &http.Server{
		Handler:           h,
		Protocols:         &protocols,
		ReadHeaderTimeout: c.HeaderTimeout,
		ReadTimeout:       c.ReadTimeout,
		WriteTimeout:      c.WriteTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    64 << 10,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 1000,
			SendPingTimeout:      30 * time.Second, // pings find peers that no longer answer
			PingTimeout:          15 * time.Second,
			WriteByteTimeout:     30 * time.Second,
		},
	}
}
