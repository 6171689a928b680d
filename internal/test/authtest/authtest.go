package authtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tidemark/tidemark/internal/auth"
)

// Issuer and Audience are those of all tokens.
const (
	Issuer   = "https://id.example"
	Audience = "tidemark"
)

const secret = "a secret that only tests know, with 32 bytes or more"

// KeyFile returns a file with the key of the tokens.
func KeyFile(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Verifier returns a verifier that accepts the tokens.
func Verifier(t testing.TB) *auth.Verifier {
	t.Helper()
	return verifierOf(t, KeyFile(t))
}

func verifierOf(t testing.TB, keyFile string) *auth.Verifier {
	t.Helper()
	keys, err := auth.Open(t.Context(), keyFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := auth.NewVerifier(auth.Config{Keys: keys, Issuer: Issuer, Audience: Audience})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Token returns a token of a user that expires after a while.
func Token(t testing.TB, user string, expires time.Duration) string {
	t.Helper()
	return signed(t, map[string]any{"sub": user, "exp": time.Now().Add(expires).Unix()})
}

// Service returns a token with the scope service.
func Service(t testing.TB) string {
	t.Helper()
	return signed(t, map[string]any{"sub": "a-service", "scope": auth.ScopeService.String(), "exp": time.Now().Add(time.Hour).Unix()})
}

// ServiceFor returns a service's token that is valid for a while. It expires 30 s earlier than
// that, because verifiers accept clocks that differ by 30 s.
func ServiceFor(t testing.TB, valid time.Duration) string {
	t.Helper()
	expires := time.Now().Add(valid - 30*time.Second)
	return signed(t, map[string]any{"sub": "a-service", "scope": auth.ScopeService.String(), "exp": expires.Unix()})
}

// Scoped returns a token of a user with other scopes.
func Scoped(t testing.TB, user, scope string) string {
	t.Helper()
	return signed(t, map[string]any{"sub": user, "scope": scope, "exp": time.Now().Add(time.Hour).Unix()})
}

func signed(t testing.TB, claims map[string]any) string {
	t.Helper()
	claims["iss"], claims["aud"] = Issuer, Audience
	return signedWith(t, jose.HS256, []byte(secret), nil, claims)
}

// signedWith returns a token signed with a key and an algorithm.
func signedWith(t testing.TB, alg jose.SignatureAlgorithm, key any, header map[string]string, claims map[string]any) string {
	t.Helper()
	o := &jose.SignerOptions{}
	for name, value := range header {
		o.WithHeader(jose.HeaderKey(name), value)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Sign(b)
	if err != nil {
		t.Fatal(err)
	}
	token, err := j.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
