package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// What is signed with a private key is verified with its public half, for every kind of key.
func TestSign(t *testing.T) {
	rsaKey, err1 := rsa.GenerateKey(rand.Reader, 2048)
	p256, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p384, err3 := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	edPublic, ed, err4 := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) []byte {
		b, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})
	}
	public := func(key any) []byte {
		b, err := x509.MarshalPKIXPublicKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: b})
	}
	sec1, err := x509.MarshalECPrivateKey(p256)
	if err != nil {
		t.Fatal(err)
	}
	jwk := jose.JSONWebKey{Key: ed, KeyID: "k1", Use: "sig"}
	jwkPrivate, err1 := jwk.MarshalJSON()
	jwkPublic, err2 := jose.JSONWebKey{Key: edPublic, KeyID: "k1", Use: "sig"}.MarshalJSON()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	secret := []byte(strings.Repeat("s", minSecret) + "\n")
	for name, c := range map[string]struct {
		private, public []byte
		refused         string
	}{
		"a secret":       {private: secret, public: secret},
		"RSA":            {private: pkcs8(rsaKey), public: public(&rsaKey.PublicKey)},
		"RSA, PKCS 1":    {private: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)}), public: public(&rsaKey.PublicKey)},
		"P-256":          {private: pkcs8(p256), public: public(&p256.PublicKey)},
		"P-256, SEC 1":   {private: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}), public: public(&p256.PublicKey)},
		"Ed25519":        {private: pkcs8(ed), public: public(edPublic)},
		"a JWK":          {private: jwkPrivate, public: append(append([]byte(`{"keys":[`), jwkPublic...), `]}`...)},
		"a short secret": {private: []byte("short"), refused: "want 32"},
		"a public key":   {private: public(edPublic), refused: "is not a private key"},
		"a public JWK":   {private: jwkPublic, refused: "want a secret"},
		"P-384":          {private: pkcs8(p384), refused: "P-256"},
		"other JSON":     {private: []byte(`{"a":1}`), refused: "not a private JSON Web Key"},
		"a broken PEM":   {private: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), refused: "the key in"},
	} {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "private"), c.private, 0o600), os.WriteFile(filepath.Join(dir, "public"), c.public, 0o600)); err != nil {
			t.Fatal(err)
		}
		token, err := Sign(filepath.Join(dir, "private"), Claims{Subject: "ann", Scopes: ScopeRead, Issuer: "i", Audience: "a", ID: "x", Issued: time.Now(), Expires: time.Now().Add(time.Hour)})
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		keys, err := Open(t.Context(), filepath.Join(dir, "public"), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v, err := NewVerifier(Config{Keys: keys, Issuer: "i", Audience: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if id, err := v.Verify(t.Context(), token); err != nil || id.Subject != "ann" || id.Scopes != ScopeRead || id.ID != "x" {
			t.Errorf("%s: %+v, %v", name, id, err)
		}
	}
}
