// Package peers has the clients of the other nodes.
//
//	peers.go  one client for each URL, and what a caller is told when a call has failed
package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Peers are clients of the other nodes, by URL. A client holds no connection of its own: the
// transport pools them.
type Peers struct {
	proof *peer.Proof
	base  http.RoundTripper
	calls []connect.ClientOption

	mu      sync.RWMutex
	clients map[string]queryv1connect.QueryServiceClient
}

// maxClients bounds the clients that are remembered: nodes come back at other addresses, for as
// long as this one lives. When it is reached all are forgotten; whoever is still there is soon
// known again.
const maxClients = 256

// Transport multiplexes the calls to a node, its watches included, over few connections. The
// configuration is for nodes that are reached by TLS; nil trusts the system's authorities.
func Transport(c *tls.Config) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols:           &protocols,
		TLSClientConfig:     c,
		DialContext:         (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 3 * time.Second,
		IdleConnTimeout:     2 * time.Minute,
		// A peer whose machine is gone answers no ping.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// New makes clients that call by base. spans, unless it is nil, is around each call.
func New(proof *peer.Proof, base http.RoundTripper, spans connect.Interceptor) *Peers {
	p := &Peers{proof: proof, base: base, clients: map[string]queryv1connect.QueryServiceClient{}}
	p.calls = []connect.ClientOption{connect.WithReadMaxBytes(maxPeerAnswer)}
	if spans != nil {
		p.calls = append(p.calls, connect.WithInterceptors(spans))
	}
	return p
}

// Client is that of the node at a URL, if it takes calls of this one for the caller of ctx.
func (p *Peers) Client(ctx context.Context, rawURL string) (queryv1connect.QueryServiceClient, error) {
	if err := p.proof.MaySend(ctx, rawURL); err != nil {
		p.proof.Doubts.Add(rawURL, err.Error())
		return nil, err
	}
	p.mu.RLock()
	known := p.clients[rawURL]
	p.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	u, err := url.Parse(rawURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fault.Hide("the owner advertises no http or https URL: set --advertise there", fmt.Errorf("the owner advertises %q", rawURL))
	}
	c := queryv1connect.NewQueryServiceClient(&http.Client{Transport: p.proof.Transport(p.base, rawURL)}, rawURL, p.calls...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clients) >= maxClients {
		clear(p.clients)
	}
	p.clients[rawURL] = c
	return c, nil
}

// Answered notes that the node at a URL took a call of this one.
func (p *Peers) Answered(rawURL string) { p.proof.Doubts.Clear(rawURL) }

// Failed returns the error that a caller gets when a call to the node at a URL about what has
// failed. If that node does not believe this one, it is noted.
func (p *Peers) Failed(ctx context.Context, rawURL, what string, err error) error {
	proof, reported := fault.FromPeer(ctx, rawURL, what, err)
	var ce *connect.Error
	switch {
	case proof && errors.As(reported, &ce):
		p.proof.Doubts.Add(rawURL, ce.Message())
	case connect.IsWireError(err):
		p.proof.Doubts.Clear(rawURL) // it answered
	}
	return reported
}

// maxPeerAnswer bounds what another node may answer: a page of 1,000 channels with previews is
// below 2 MiB.
const maxPeerAnswer = 16 << 20
