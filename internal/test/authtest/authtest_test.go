package authtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tidemark/tidemark/internal/auth"
)

// Other tests rely on this: each token belongs to its user and is valid until it expires.
func TestTokens(t *testing.T) {
	for name, v := range map[string]*auth.Verifier{"a secret": Verifier(t), "two keys": VerifierOfTwo(t)} {
		id, err := v.Verify(t.Context(), Token(t, "ann", time.Hour))
		if left := time.Until(id.Expires); err != nil || id.Subject != "ann" || id.Scopes != 0 || left < 59*time.Minute || left > 61*time.Minute {
			t.Errorf("%s, a user's: %+v, %v", name, id, err)
		}
		if id, err := v.Verify(t.Context(), Service(t)); err != nil || id.Scopes != auth.ScopeService {
			t.Errorf("%s, a service's: %+v, %v", name, id, err)
		}
		if _, err := v.Verify(t.Context(), Token(t, "ann", -time.Hour)); !errors.Is(err, auth.ErrInvalid) {
			t.Errorf("%s, one that has expired: %v", name, err)
		}
	}
}

// A verifier must refuse a forged token for its one fault and for nothing else, or a test that
// sends it would prove nothing. So it must accept the same claims with a correct signature.
func TestForgedForOneReasonEach(t *testing.T) {
	const unsigned, unverified = "it is not a JWT signed", "no key for its kid and algorithm"
	reasons := map[string]string{
		"alg none": unsigned, "alg None with a kid": unsigned, "another algorithm": unsigned, "no JWT": unsigned,
		"HS256 with the public key": unverified, "HS256 with its DER": unverified, "another key": unverified, "kid traversal": unverified,
		"kid of another key": unverified, "jku": unverified, "x5u": unverified,
		"expired": "it has expired", "no exp": "it has no exp", "not yet valid": "it is not valid yet", "wrong aud": "its aud", "no aud": "its aud",
		"wrong iss": "its iss", "no sub": "it has no sub",
	}
	v, forged := VerifierOfTwo(t), Forged(t)
	if len(forged) != len(reasons) {
		t.Errorf("%d tokens, and a reason for %d", len(forged), len(reasons))
	}
	for name, token := range forged {
		_, err := v.Verify(t.Context(), token)
		if want := reasons[name]; want == "" || !errors.Is(err, auth.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	own, _ := pair()
	claims := map[string]any{"sub": "ann", "iss": Issuer, "aud": Audience, "exp": time.Now().Add(time.Hour).Unix()}
	for name, token := range map[string]string{
		"the secret":      signedWith(t, jose.HS256, []byte(secret), map[string]string{"kid": "hs"}, claims),
		"the private key": signedWith(t, jose.RS256, own, map[string]string{"kid": "rs"}, claims),
		"no kid":          signedWith(t, jose.RS256, own, nil, claims),
	} {
		if id, err := v.Verify(t.Context(), token); err != nil || id.Subject != "ann" {
			t.Errorf("signed with %s: %+v, %v", name, id, err)
		}
	}
}
