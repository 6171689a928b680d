package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tidemark/tidemark/internal/auth"
)

// RefusedError is why a request is not believed to come from a node.
type RefusedError struct{ why string }

func (r *RefusedError) Error() string {
	return "this call is not from a node of this cluster: " + r.why
}

func refused(format string, args ...any) *RefusedError {
	return &RefusedError{fmt.Sprintf(format, args...)}
}

// Accept checks whether another node sent a request. If one did, it notes that in the request's
// context (auth.FromPeer), with the caller's identity if the proof is strong enough
// (auth.IdentityOf). It refuses a request that claims to come from a node and does not prove it, or
// that has forwarding headers without a proof. maxBody bounds how much of the body is read.
func (p *Proof) Accept(r *http.Request, maxBody int64) (*http.Request, error) {
	accepted, err := p.accept(r, maxBody)
	if err != nil {
		return r, err
	}
	return accepted, nil
}

func (p *Proof) accept(r *http.Request, maxBody int64) (*http.Request, error) {
	text := r.Header.Get(header)
	if text == "" {
		for _, name := range []string{HeaderHops, HeaderPartitions} {
			if len(r.Header.Values(name)) > 0 {
				return nil, refused("header %s is for nodes only, and the caller does not prove that it is one", name)
			}
		}
		return r, nil
	}
	for _, name := range []string{header, HeaderHops, HeaderPartitions} {
		if len(r.Header.Values(name)) > 1 {
			return nil, refused("header %s is set twice", name)
		}
	}
	s, err := parseStatement(text)
	if err != nil {
		return nil, refused("%s: %v", header, err)
	}
	if off := p.now().Sub(time.UnixMilli(s.at)).Abs(); off > leeway {
		return nil, refused("it was signed %s before or after the time of this node; synchronize their clocks", off.Round(time.Second))
	}
	host := r.Host
	if p.Self != "" {
		host = hostOf(p.Self)
	}
	strong := r.TLS != nil && len(r.TLS.VerifiedChains) > 0 // only certificates of --peer-ca are asked for
	switch {
	case strong:
	case p.Secrets != nil && s.signedWith(p.Secrets.current(), r, host):
		strong = true
	case p.relayKey(p.Self) != "" && s.signedWith([][]byte{[]byte(p.relayKey(p.Self))}, r, host):
	default:
		return nil, refused("its signature matches no secret of this node; all nodes need the same --peer-secret-file, or " +
			"certificates of one --peer-ca")
	}
	if r, err = withBody(r, s.body, maxBody); err != nil {
		return nil, err
	}
	ctx := auth.WithPeer(r.Context())
	if strong {
		id, known, err := s.identity()
		if err != nil {
			return nil, refused("%v", err)
		}
		if known {
			if !id.Expires.IsZero() && p.now().After(id.Expires) {
				return nil, refused("the token of its caller has expired")
			}
			ctx = auth.WithIdentity(ctx, id)
		}
	}
	return r.WithContext(ctx), nil
}

var errBody = errors.New("the body differs from the signed one")

// withBody reads the body of a request and makes sure that it is the one that was signed.
func withBody(r *http.Request, want string, limit int64) (*http.Request, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, limit+1)); err != nil {
			return nil, refused("its body cannot be read: %v", err)
		}
	}
	if int64(len(body)) > limit {
		return nil, refused("its body has more than %d bytes", limit)
	}
	if hashOf(body) != want {
		return nil, refused("%v", errBody)
	}
	r = r.WithContext(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, nil
}
