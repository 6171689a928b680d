package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// ErrInvalid is the error of every refused token. The error around it has the reason, for an
// operator's log and not for the sender of the token.
var ErrInvalid = errors.New("the token is not valid")

// SubprotocolPrefix precedes a token in a WebSocket subprotocol.
const SubprotocolPrefix = "tidemark.bearer."

const (
	// maxToken bounds a token before anything is computed.
	maxToken = 8 << 10
	// leeway is how much clocks may differ.
	leeway = 30 * time.Second
)

// algorithms are the allowed algorithms of a token.
var algorithms = []jose.SignatureAlgorithm{jose.HS256, jose.RS256, jose.ES256, jose.EdDSA}

// Identity is a verified caller.
type Identity struct {
	Subject string
	Scopes  Scopes // rights beyond those of every user
	ID      string // jti of the token; empty: it has none
	Expires time.Time

	key fingerprint // of the key that signed the token
}

// Config sets which tokens are valid.
type Config struct {
	Keys     *Keys
	Revoked  *Revoked         // valid tokens that are refused all the same; nil: none
	Issuer   string           // the required iss
	Audience string           // a required element of aud
	Now      func() time.Time // nil: time.Now
	// JudgeEvery is the time between two checks of connected callers (Verifier.Hold); 10 s by
	// default.
	JudgeEvery time.Duration
}

// Verifier checks tokens. Any number of goroutines may use it.
type Verifier struct {
	c     Config
	holds holds
}

// NewVerifier makes a Verifier. Keys, issuer and audience must be set, because a token of the same
// issuer for another service must not be valid here.
func NewVerifier(c Config) (*Verifier, error) {
	switch {
	case c.Keys == nil:
		return nil, errors.New("no keys to verify tokens with")
	case c.Issuer == "":
		return nil, errors.New("the issuer of tokens is not set (--auth-issuer)")
	case c.Audience == "":
		return nil, errors.New("the audience of tokens is not set (--auth-audience)")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.JudgeEvery == 0 {
		c.JudgeEvery = judgeEvery
	}
	return &Verifier{c: c, holds: holds{every: c.JudgeEvery, all: map[*caller]struct{}{}}}, nil
}

// Verify returns the identity of a valid token. Errors are ErrInvalid with a reason that contains
// nothing of the token.
func (v *Verifier) Verify(ctx context.Context, token string) (Identity, error) {
	if len(token) > maxToken {
		return Identity{}, fmt.Errorf("%w: it has more than %d bytes", ErrInvalid, maxToken)
	}
	t, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(t.Headers) != 1 {
		return Identity{}, fmt.Errorf("%w: it is not a JWT signed with one of %v", ErrInvalid, algorithms)
	}
	h := t.Headers[0]
	var (
		claims jwt.Claims
		more   struct {
			Scope words `json:"scope"`
		}
	)
	var signer fingerprint
	signedBy := func(keys []key) bool {
		i := slices.IndexFunc(keys, func(k key) bool { return t.Claims(k.material, &claims, &more) == nil })
		if i >= 0 {
			signer = keys[i].print
		}
		return i >= 0
	}
	keys, reading := v.c.Keys.find(ctx, h.KeyID, h.Algorithm)
	if !signedBy(keys) && !signedBy(v.c.Keys.findNewer(ctx, h.KeyID, h.Algorithm, reading)) {
		return Identity{}, fmt.Errorf("%w: no key for its kid and algorithm verifies the signature", ErrInvalid)
	}
	now := v.c.Now()
	switch {
	case claims.Expiry == nil:
		return Identity{}, fmt.Errorf("%w: it has no exp", ErrInvalid)
	case now.After(claims.Expiry.Time().Add(leeway)):
		return Identity{}, fmt.Errorf("%w: it has expired", ErrInvalid)
	case claims.NotBefore != nil && now.Before(claims.NotBefore.Time().Add(-leeway)):
		return Identity{}, fmt.Errorf("%w: it is not valid yet", ErrInvalid)
	case claims.IssuedAt != nil && now.Before(claims.IssuedAt.Time().Add(-leeway)):
		return Identity{}, fmt.Errorf("%w: it was issued in the future", ErrInvalid)
	case claims.Issuer != v.c.Issuer:
		return Identity{}, fmt.Errorf("%w: its iss is not %q", ErrInvalid, v.c.Issuer)
	case !claims.Audience.Contains(v.c.Audience):
		return Identity{}, fmt.Errorf("%w: its aud does not contain %q", ErrInvalid, v.c.Audience)
	case claims.Subject == "":
		return Identity{}, fmt.Errorf("%w: it has no sub", ErrInvalid)
	}
	id := Identity{
		Subject: claims.Subject, Scopes: scopesOf(more.Scope), ID: claims.ID, Expires: claims.Expiry.Time().Add(leeway), key: signer,
	}
	if v.c.Revoked.has(id) {
		return Identity{}, fmt.Errorf("%w: it, or all tokens of its sub, was revoked", ErrInvalid)
	}
	return id, nil
}

// Bearer returns the token of an Authorization header.
func Bearer(h http.Header) (string, bool) {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}
