package peer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/obs"
)

// Proof is this node's proof for other nodes, and its check of theirs. The zero value has only the
// relay keys.
type Proof struct {
	// Secrets are shared by all nodes; nil: none.
	Secrets *Secrets
	// Certificates is true if this node shows a certificate to others, which proves only calls by
	// https.
	Certificates bool
	// ServiceToken is the node's own token of scope service, which it sends if it has no other
	// proof. Nil: none.
	ServiceToken func() (string, error)
	// RelayKey returns the relay key that the node at url has published to the group; empty: none
	// is known.
	RelayKey func(url string) string
	// Doubts collects the nodes that refuse this one's proof; it may be nil.
	Doubts *Doubts
	// Self is the URL at which others reach this node; empty: they cannot.
	Self string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

func (p *Proof) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// strong reports whether the node at u accepts this node's statements about callers.
func (p *Proof) strong(u *url.URL) bool {
	return p.Secrets != nil || p.Certificates && u.Scheme == "https"
}

// MaySend returns the reason why a call cannot be forwarded to the node at rawURL, nil if it can.
// If callers have identities, the other node must accept this node's proof of them.
func (p *Proof) MaySend(ctx context.Context, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil //nolint:nilerr // dialing it reports the error
	}
	if _, known := auth.IdentityOf(ctx); !known || p.strong(u) {
		return nil
	}
	if p.ServiceToken != nil {
		_, err := p.ServiceToken()
		return err
	}
	if p.Certificates {
		return errors.New("the other node advertises no https address, so it cannot see the certificate of this one: " +
			"set --tls-cert and an https --advertise there, or --peer-secret-file here and there")
	}
	return ErrNoProof
}

// OwnAccount returns a function with the reason why this node cannot call other nodes on its own
// account now. If callers have identities and OwnAccount returns nil, it never can.
func (p *Proof) OwnAccount() func() error {
	switch {
	case p.Secrets != nil || p.Certificates:
		return func() error { return nil }
	case p.ServiceToken != nil:
		return func() error { _, err := p.ServiceToken(); return err }
	}
	return nil
}

// ErrNoProof means that this node cannot prove its callers' identities to others.
var ErrNoProof = errors.New("the data is on another node, and this node cannot prove to it that it is a node: " +
	"set --peer-secret-file, or --peer-cert, --peer-key and --peer-ca, on all nodes")

// Transport sends calls to the node that advertises rawURL, by base, with this node's proof and
// without any token of a caller.
func (p *Proof) Transport(base http.RoundTripper, rawURL string) http.RoundTripper {
	return &transport{p, base, rawURL}
}

type transport struct {
	proof *Proof
	base  http.RoundTripper
	url   string
}

// RoundTrip reads the body before it sends anything: forwarded calls are queries, of at most 1 MiB.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p := t.proof
	if err := p.MaySend(r.Context(), t.url); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil && r.Body != http.NoBody {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close() // it was read, or is useless
		if err != nil {
			return nil, err
		}
	}
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.TransferEncoding = nil
	out.Header.Del("Authorization")
	if id := obs.RequestID(r.Context()); id != "" {
		out.Header.Set(obs.RequestIDHeader, id) // so that both nodes log the same id
	}
	s := statement{at: p.now().UnixMilli(), body: hashOf(body), caller: none, mac: none}
	id, known := auth.IdentityOf(r.Context())
	if p.strong(r.URL) {
		s.caller = encodeCaller(id, known)
	} else if known {
		token, err := p.ServiceToken()
		if err != nil {
			return nil, err
		}
		out.Header.Set("Authorization", "Bearer "+token)
	}
	if p.Secrets != nil {
		s.mac = s.sign(p.Secrets.current()[0], out, hostOf(t.url))
	} else if key := p.relayKey(t.url); key != "" {
		s.mac = s.sign([]byte(key), out, hostOf(t.url))
	}
	out.Header.Set(header, s.String())
	return t.base.RoundTrip(out)
}

// relayKey returns the relay key that the node at a URL has published; empty: none.
func (p *Proof) relayKey(rawURL string) string {
	if p.RelayKey == nil || rawURL == "" {
		return ""
	}
	return p.RelayKey(rawURL)
}

// hostOf returns the host and port of a URL in the form of a request.
func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
