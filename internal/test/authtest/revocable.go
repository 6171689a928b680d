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

// Revocable has a file of two keys and a file of revoked tokens, which several nodes read.
type Revocable struct{ keys, list string }

// NewRevocable creates the files. No token is revoked.
func NewRevocable(t testing.TB) *Revocable {
	t.Helper()
	dir := t.TempDir()
	r := &Revocable{filepath.Join(dir, "keys"), filepath.Join(dir, "revoked")}
	own, _ := pair()
	r.keep(t, jose.JSONWebKey{KeyID: "hs", Key: []byte(secret)}, jose.JSONWebKey{KeyID: "rs", Key: &own.PublicKey, Use: "sig"})
	r.Revoke(t, "")
	return r
}

// Verifier returns the verifier of one node. It checks streams and sockets 20 times a second, so
// that a test need not wait.
func (r *Revocable) Verifier(t testing.TB) *auth.Verifier {
	t.Helper()
	keys, err := auth.Open(t.Context(), r.keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := auth.OpenRevoked(t.Context(), r.list, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := auth.NewVerifier(auth.Config{Keys: keys, Revoked: revoked, Issuer: Issuer, Audience: Audience, JudgeEvery: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Token returns a token of a user with an id (jti), signed with the first key or the second.
func (r *Revocable) Token(t testing.TB, user, id string, second bool) string {
	t.Helper()
	claims := map[string]any{"sub": user, "jti": id, "iss": Issuer, "aud": Audience, "exp": time.Now().Add(time.Hour).Unix()}
	if !second {
		return signedWith(t, jose.HS256, []byte(secret), nil, claims)
	}
	own, _ := pair()
	return signedWith(t, jose.RS256, own, nil, claims)
}

// Revoke replaces the list with lines.
func (r *Revocable) Revoke(t testing.TB, lines string) {
	t.Helper()
	replace(t, r.list, []byte(lines))
}

// RemoveSecond removes the second key.
func (r *Revocable) RemoveSecond(t testing.TB) {
	t.Helper()
	r.keep(t, jose.JSONWebKey{KeyID: "hs", Key: []byte(secret)})
}

func (r *Revocable) keep(t testing.TB, keys ...jose.JSONWebKey) {
	t.Helper()
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	replace(t, r.keys, set)
}

func replace(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}
