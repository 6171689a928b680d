package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// ErrInvalid is what every refused token comes to. The error around it says why, for the log of an operator, not for
// whoever sent the token.
var ErrInvalid = errors.New("the token is not valid")

// SubprotocolPrefix is before a token in a WebSocket subprotocol.
const SubprotocolPrefix = "tidemark.bearer."

// ServiceScope is the scope of tokens that read everything and may publish.
const ServiceScope = "service"

const (
	// maxToken bounds a token before anything is computed.
	maxToken = 8 << 10
	// leeway is what clocks may differ by.
	leeway = 30 * time.Second
)

// algorithms are those that a token may say.
var algorithms = []jose.SignatureAlgorithm{jose.HS256, jose.RS256, jose.ES256, jose.EdDSA}

// Identity is who asks.
type Identity struct {
	Subject string
	Service bool // reads everything, may publish
	Expires time.Time
}

// Config says which tokens are valid.
type Config struct {
	Keys     *Keys
	Issuer   string           // iss has to be this
	Audience string           // aud has to contain this
	Now      func() time.Time // nil: time.Now
}

// Verifier judges tokens. It may be used by any number of goroutines.
type Verifier struct{ c Config }

// NewVerifier makes a Verifier. Keys, issuer and audience must be set: a token for another service, signed by the same
// issuer, is not one for this.
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
	return &Verifier{c}, nil
}

// scopes is a claim that is a list, or words with spaces between.
type scopes []string

// UnmarshalJSON takes both forms.
func (s *scopes) UnmarshalJSON(b []byte) error {
	var words string
	if json.Unmarshal(b, &words) == nil {
		*s = strings.Fields(words)
		return nil
	}
	return json.Unmarshal(b, (*[]string)(s))
}

// Verify returns whose token it is. Errors are ErrInvalid with a reason that contains nothing of the token.
func (v *Verifier) Verify(ctx context.Context, token string) (Identity, error) {
	if len(token) > maxToken {
		return Identity{}, fmt.Errorf("%w: it has more than %d bytes", ErrInvalid, maxToken)
	}
	t, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(t.Headers) != 1 {
		return Identity{}, fmt.Errorf("%w: it is no JWT signed with one of %v", ErrInvalid, algorithms)
	}
	h := t.Headers[0]
	var (
		claims jwt.Claims
		more   struct {
			Scope scopes `json:"scope"`
		}
	)
	signedBy := func(keys []any) bool {
		return slices.ContainsFunc(keys, func(k any) bool { return t.Claims(k, &claims, &more) == nil })
	}
	keys, reading := v.c.Keys.find(ctx, h.KeyID, h.Algorithm)
	if !signedBy(keys) && !signedBy(v.c.Keys.again(ctx, h.KeyID, h.Algorithm, reading)) {
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
	return Identity{
		Subject: claims.Subject, Service: slices.Contains(more.Scope, ServiceScope), Expires: claims.Expiry.Time().Add(leeway),
	}, nil
}

// Bearer is the token of an Authorization header.
func Bearer(h http.Header) (string, bool) {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}
