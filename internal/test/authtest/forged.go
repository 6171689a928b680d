package authtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tidemark/tidemark/internal/auth"
)

// pair is the RSA key of the issuer and that of a stranger. They are generated once, because that
// takes a while.
var pair = sync.OnceValues(func() (own, stranger *rsa.PrivateKey) {
	own, _ = rsa.GenerateKey(rand.Reader, 2048)
	stranger, _ = rsa.GenerateKey(rand.Reader, 2048)
	return own, stranger
})

// VerifierOfTwo returns a verifier that accepts tokens signed with the secret (Token, Service), and
// tokens signed with an RSA key whose public half an attacker knows.
func VerifierOfTwo(t testing.TB) *auth.Verifier {
	t.Helper()
	own, _ := pair()
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{KeyID: "hs", Key: []byte(secret)}, {KeyID: "rs", Key: &own.PublicKey, Use: "sig"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, set, 0o600); err != nil {
		t.Fatal(err)
	}
	return verifierOf(t, name)
}

// Forged returns tokens of the user ann that a verifier must refuse, by their fault
// (docs/security.md). Each would be valid without that fault.
func Forged(t testing.TB) map[string]string {
	t.Helper()
	own, stranger := pair()
	der, err := x509.MarshalPKIXPublicKey(&own.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	claims := func(name string, value any) map[string]any {
		c := map[string]any{"sub": "ann", "iss": Issuer, "aud": Audience, "exp": time.Now().Add(time.Hour).Unix()}
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return c
	}
	good := claims("sub", "ann")
	body, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	unsigned := func(header string) string {
		e := base64.RawURLEncoding
		return e.EncodeToString([]byte(header)) + "." + e.EncodeToString(body) + "."
	}
	hs := func(name string, value any) string {
		return signedWith(t, jose.HS256, []byte(secret), nil, claims(name, value))
	}
	return map[string]string{
		"alg none":                  unsigned(`{"alg":"none"}`),
		"alg None with a kid":       unsigned(`{"alg":"None","kid":"rs"}`),
		"HS256 with the public key": signedWith(t, jose.HS256, public, map[string]string{"kid": "rs"}, good),
		"HS256 with its DER":        signedWith(t, jose.HS256, der, nil, good),
		"another key":               signedWith(t, jose.RS256, stranger, map[string]string{"kid": "rs"}, good),
		"another algorithm":         signedWith(t, jose.PS256, own, map[string]string{"kid": "rs"}, good),
		"kid traversal":             signedWith(t, jose.HS256, make([]byte, 32), map[string]string{"kid": "../../../dev/null"}, good),
		"kid of another key":        signedWith(t, jose.HS256, []byte(secret), map[string]string{"kid": "rs"}, good),
		"jku":                       signedWith(t, jose.RS256, stranger, map[string]string{"kid": "x", "jku": "https://evil.example/jwks"}, good),
		"x5u":                       signedWith(t, jose.RS256, stranger, map[string]string{"x5u": "https://evil.example/cert"}, good),
		"expired":                   hs("exp", time.Now().Add(-time.Hour).Unix()),
		"no exp":                    hs("exp", nil),
		"not yet valid":             hs("nbf", time.Now().Add(time.Hour).Unix()),
		"wrong aud":                 hs("aud", "another"),
		"no aud":                    hs("aud", nil),
		"wrong iss":                 hs("iss", "https://evil.example"),
		"no sub":                    hs("sub", nil),
		"no JWT":                    "a.b.c",
	}
}
