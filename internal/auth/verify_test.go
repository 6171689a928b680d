package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

var secret = bytes.Repeat([]byte("s3cret.."), 4)

// testKeys are generated once, because RSA keys take a while.
var testKeys = sync.OnceValue(func() (k struct {
	rsa, other *rsa.PrivateKey
	ec         *ecdsa.PrivateKey
	ed         ed25519.PrivateKey
},
) {
	k.rsa, _ = rsa.GenerateKey(rand.Reader, 2048)
	k.other, _ = rsa.GenerateKey(rand.Reader, 2048)
	k.ec, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, k.ed, _ = ed25519.GenerateKey(rand.Reader)
	return k
})

func jwks(keys ...jose.JSONWebKey) []byte {
	b, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		panic(err)
	}
	return b
}

// all returns a set with a key of each type.
func all() []byte {
	k := testKeys()
	return jwks(
		jose.JSONWebKey{KeyID: "hs", Key: secret}, jose.JSONWebKey{KeyID: "rs", Key: &k.rsa.PublicKey, Use: "sig"},
		jose.JSONWebKey{KeyID: "es", Key: &k.ec.PublicKey, Algorithm: "ES256"}, jose.JSONWebKey{KeyID: "ed", Key: k.ed.Public()},
	)
}

func file(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func verifier(t *testing.T, source string) *Verifier {
	t.Helper()
	keys, err := Open(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVerifier(Config{Keys: keys, Issuer: "https://id.example", Audience: "tidemark", Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// claims returns valid claims, changed by pairs of name and value; nil removes one.
func claims(changes ...any) map[string]any {
	c := map[string]any{
		"sub": "ann", "iss": "https://id.example", "aud": "tidemark", "exp": noon.Add(time.Hour).Unix(), "nbf": noon.Add(-time.Hour).Unix(),
	}
	for i := 0; i < len(changes); i += 2 {
		if c[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
			delete(c, changes[i].(string))
		}
	}
	return c
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, header map[string]string, c map[string]any) string {
	t.Helper()
	o := &jose.SignerOptions{}
	for name, value := range header {
		o.WithHeader(jose.HeaderKey(name), value)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Sign(b)
	if err != nil {
		t.Fatal(err)
	}
	out, err := j.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEachAlgorithm(t *testing.T) {
	k := testKeys()
	v := verifier(t, file(t, all()))
	for _, c := range []struct {
		alg jose.SignatureAlgorithm
		key any
		kid string
	}{{jose.HS256, secret, "hs"}, {jose.RS256, k.rsa, "rs"}, {jose.ES256, k.ec, "es"}, {jose.EdDSA, k.ed, "ed"}, {jose.RS256, k.rsa, ""}} {
		header := map[string]string{}
		if c.kid != "" {
			header["kid"] = c.kid
		}
		id, err := v.Verify(t.Context(), sign(t, c.alg, c.key, header, claims()))
		if err != nil || id.Subject != "ann" || id.Scopes != 0 {
			t.Errorf("%s: %+v, %v", c.alg, id, err)
		}
	}
}

func TestScopes(t *testing.T) {
	v := verifier(t, file(t, secret))
	for _, c := range []struct {
		scope any
		want  Scopes
		text  string
	}{
		{"service", ScopeService, "service"}, {"read service", ScopeService, "service"}, {[]string{"service"}, ScopeService, "service"},
		{"services", 0, ""}, {nil, 0, ""}, {"Read openid", 0, ""}, {"read", ScopeRead, "read"}, {"publish profile", ScopePublish, "publish"},
		{[]string{"erase"}, ScopeErase, "erase"}, {"admin read", ScopeRead | ScopeAdmin, "read admin"},
		{"read publish erase admin", ScopeService, "service"},
	} {
		id, err := v.Verify(t.Context(), sign(t, jose.HS256, secret, nil, claims("scope", c.scope)))
		if err != nil || id.Scopes != c.want || id.Scopes.String() != c.text || ParseScopes(c.text) != c.want {
			t.Errorf("scope %v: %+v (%s), %v", c.scope, id, id.Scopes, err)
		}
	}
}

// TestRefused verifies tokens that are valid except for one fault (docs/security.md).
func TestRefused(t *testing.T) {
	k := testKeys()
	v := verifier(t, file(t, all()))
	der, err := x509.MarshalPKIXPublicKey(&k.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	raw := func(header, payload string) string {
		e := base64.RawURLEncoding
		return e.EncodeToString([]byte(header)) + "." + e.EncodeToString([]byte(payload)) + "."
	}
	body, _ := json.Marshal(claims())
	good := sign(t, jose.RS256, k.rsa, map[string]string{"kid": "rs"}, claims())
	for name, token := range map[string]string{
		"alg none":                    raw(`{"alg":"none"}`, string(body)),
		"alg None, with a kid":        raw(`{"alg":"None","kid":"rs"}`, string(body)),
		"HS256 with the public key":   sign(t, jose.HS256, public, map[string]string{"kid": "rs"}, claims()),
		"HS256 with its DER, no kid":  sign(t, jose.HS256, der, nil, claims()),
		"a key that is not ours":      sign(t, jose.RS256, k.other, map[string]string{"kid": "rs"}, claims()),
		"a key for another algorithm": sign(t, jose.PS256, k.rsa, map[string]string{"kid": "rs"}, claims()),
		"kid traversal":               sign(t, jose.HS256, bytes.Repeat([]byte{0}, 32), map[string]string{"kid": "../../../dev/null"}, claims()),
		"kid of another key":          sign(t, jose.HS256, secret, map[string]string{"kid": "rs"}, claims()),
		"jku":                         sign(t, jose.RS256, k.other, map[string]string{"jku": "https://evil.example/jwks", "kid": "x"}, claims()),
		"x5u":                         sign(t, jose.RS256, k.other, map[string]string{"x5u": "https://evil.example/cert"}, claims()),
		"no exp":                      sign(t, jose.HS256, secret, nil, claims("exp", nil)),
		"expired":                     sign(t, jose.HS256, secret, nil, claims("exp", noon.Add(-time.Minute).Unix())),
		"not yet valid":               sign(t, jose.HS256, secret, nil, claims("nbf", noon.Add(time.Minute).Unix())),
		"issued in the future":        sign(t, jose.HS256, secret, nil, claims("iat", noon.Add(time.Hour).Unix())),
		"wrong aud":                   sign(t, jose.HS256, secret, nil, claims("aud", "another")),
		"no aud":                      sign(t, jose.HS256, secret, nil, claims("aud", nil)),
		"wrong iss":                   sign(t, jose.HS256, secret, nil, claims("iss", "https://evil.example")),
		"no sub":                      sign(t, jose.HS256, secret, nil, claims("sub", nil)),
		"a signature cut short":       good[:len(good)-4],
		"a payload changed":           strings.Replace(good, ".", ".e30", 1),
		"empty":                       "",
		"huge":                        strings.Repeat("a", maxToken+1),
		"no JWT":                      "a.b.c",
	} {
		id, err := v.Verify(t.Context(), token)
		if !errors.Is(err, ErrInvalid) || id != (Identity{}) {
			t.Errorf("%s: %+v, %v", name, id, err)
			continue
		}
		for _, part := range strings.Split(token, ".") {
			if len(part) > 8 && strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error has a piece of the token: %v", name, err)
			}
		}
	}
	// The token contains its own key.
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: k.other}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Sign(body)
	if err != nil {
		t.Fatal(err)
	}
	token, _ := j.CompactSerialize()
	if _, err := v.Verify(t.Context(), token); !errors.Is(err, ErrInvalid) {
		t.Errorf("jwk: %v", err)
	}
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Errorf("the token that the others were made from: %v", err)
	}
}

func TestClocksMayDiffer(t *testing.T) {
	v := verifier(t, file(t, secret))
	for _, c := range []map[string]any{
		claims("exp", noon.Add(-leeway+time.Second).Unix()), claims("nbf", noon.Add(leeway-time.Second).Unix()),
	} {
		if _, err := v.Verify(context.Background(), sign(t, jose.HS256, secret, nil, c)); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestVerifierNeedsEverything(t *testing.T) {
	keys := &Keys{}
	for _, c := range []Config{{}, {Keys: keys, Issuer: "i"}, {Keys: keys, Audience: "a"}, {Issuer: "i", Audience: "a"}} {
		if _, err := NewVerifier(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{"Bearer a.b.c": "a.b.c", "bearer x": "x", "Basic x": "", "": "", "Bearer": ""} {
		got, ok := Bearer(http.Header{"Authorization": {header}})
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", header, got, ok)
		}
	}
}
