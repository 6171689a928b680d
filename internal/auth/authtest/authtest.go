// Package authtest makes tokens for tests of what package auth protects.
package authtest

import (
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

// KeyFile is a file with the key of the tokens.
func KeyFile(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Verifier takes the tokens.
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

// Token is a token of a user that expires in so long.
func Token(t testing.TB, user string, expires time.Duration) string {
	t.Helper()
	return signed(t, map[string]any{"sub": user, "exp": time.Now().Add(expires).Unix()})
}

// Service is a token with the scope service.
func Service(t testing.TB) string {
	t.Helper()
	return signed(t, map[string]any{"sub": "a-service", "scope": auth.ServiceScope, "exp": time.Now().Add(time.Hour).Unix()})
}

func signed(t testing.TB, claims map[string]any) string {
	t.Helper()
	claims["iss"], claims["aud"] = Issuer, Audience
	return signedWith(t, jose.HS256, []byte(secret), nil, claims)
}
