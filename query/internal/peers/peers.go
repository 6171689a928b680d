// Package peers has the clients of the other nodes.
//
//	peers.go  one client for each URL, and the error that a caller gets after a failed call
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

// Peers are clients of the other nodes, by URL. A client has no connection of its own: the
// transport pools them.
type Peers struct {
	proof *peer.Proof
	base  http.RoundTripper
	calls []connect.ClientOption

	mu      sync.RWMutex
	clients map[string]queryv1connect.QueryServiceClient
}

// maxClients is how many clients are kept, because nodes come back at other addresses as long as
// this one lives. At the limit all are dropped; clients of running nodes are soon created again.
const maxClients = 256

// Transport multiplexes all calls and watches to a node over few connections. c is for nodes that
// are reached by TLS; nil trusts the system's authorities.
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
		// A peer whose machine has failed does not answer pings.
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

// Client returns the client of the node at a URL, if that node accepts calls of this one for the
// caller of ctx.
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

// Answered records that the node at a URL accepted a call of this one.
func (p *Peers) Answered(rawURL string) { p.proof.Doubts.Clear(rawURL) }

// Failed returns the error for the caller after a failed call to the node at a URL, about what. If
// that node rejects this one, Failed records it.
func (p *Peers) Failed(ctx context.Context, rawURL, what string, err error) error {
	proof, reported := fault.FromPeer(ctx, rawURL, what, err)
	var ce *connect.Error
	switch {
	case proof && errors.As(reported, &ce):
		p.proof.Doubts.Add(rawURL, ce.Message())
	case connect.IsWireError(err):
		p.proof.Doubts.Clear(rawURL) // it answered, so it accepts this node
	}
	return reported
}

// maxPeerAnswer limits another node's answer: a page of 1,000 channels with previews is below 2
// MiB.
const maxPeerAnswer = 16 << 20
