package proxy

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"
)

// Proxy is a line with a listener on 127.0.0.1 in front of a server.
type Proxy struct {
	*Line
	target   string
	listener net.Listener
}

// New returns a line without faults to a server at host:port, which need not run yet. It ends with
// the test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy to %s: %v", target, err)
	}
	p := &Proxy{Line: NewLine(t), target: target, listener: listener}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		p.accept()
	}()
	t.Cleanup(func() {
		_ = listener.Close() // ends accept
		p.Close()
		<-accepting
	})
	return p
}

// Addr returns the address for clients, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// accept takes connections until the listener is closed. While the line is cut or the server does
// not answer, it resets them.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
		if err != nil {
			reset(client)
			continue
		}
		p.join(client, server)
	}
}

// DialFunc opens a connection, as net.Dialer's DialContext does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer returns a dialer whose connections go through the line. It dials addresses with dial, or
// with TCP if dial is nil. While the line is cut it fails, and while the line is frozen it waits.
func (l *Line) Dialer(dial DialFunc) DialFunc {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if !l.await(Up, ctx.Done()) || !l.await(Down, ctx.Done()) {
			return nil, fmt.Errorf("dial %s over a frozen line: %w", address, context.Cause(ctx))
		}
		server, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		if !l.join(far, server) {
			_ = near.Close() // nobody uses it
			return nil, fmt.Errorf("dial %s: %w", address, errCut)
		}
		return near, nil
	}
}
