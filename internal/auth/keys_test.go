package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func publicPEM(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestFormsOfFiles(t *testing.T) {
	k := testKeys()
	two := append(publicPEM(t, &k.rsa.PublicKey), publicPEM(t, &k.ec.PublicKey)...)
	v := verifier(t, file(t, two))
	for alg, key := range map[jose.SignatureAlgorithm]any{jose.RS256: k.rsa, jose.ES256: k.ec} {
		if _, err := v.Verify(t.Context(), sign(t, alg, key, nil, claims())); err != nil {
			t.Errorf("PEM, %s: %v", alg, err)
		}
	}
	v = verifier(t, file(t, append(secret[:len(secret):len(secret)], '\n')))
	if _, err := v.Verify(t.Context(), sign(t, jose.HS256, secret, nil, claims())); err != nil {
		t.Errorf("a secret with a line break: %v", err)
	}
}

func TestFilesRefused(t *testing.T) {
	k := testKeys()
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skipf("this Go makes no key of 1,024 bits: %v", err)
	}
	curve, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k.rsa)})
	for name, content := range map[string][]byte{
		"a short secret":       secret[:31],
		"empty":                nil,
		"a small RSA key":      publicPEM(t, &small.PublicKey),
		"another curve":        publicPEM(t, &curve.PublicKey),
		"a private key in PEM": private,
		"a private JWK":        jwks(jose.JSONWebKey{Key: k.rsa}),
		"no keys":              []byte(`{"keys":[]}`),
		"no key set":           []byte(`{"kid":"x"}`),
		"a key for encryption": jwks(jose.JSONWebKey{Key: &k.rsa.PublicKey, Use: "enc"}),
		"alg is not its own":   jwks(jose.JSONWebKey{Key: &k.rsa.PublicKey, Algorithm: "HS256"}),
	} {
		if _, err := Open(t.Context(), file(t, content), nil); err == nil {
			t.Errorf("%s is taken", name)
		} else if strings.Contains(err.Error(), string(secret[:16])) {
			t.Errorf("%s: the error has the secret: %v", name, err)
		}
	}
	for _, source := range []string{"", "http://id.example/jwks", "/nonexistent/keys"} {
		if _, err := Open(t.Context(), source, nil); err == nil {
			t.Errorf("%q is taken", source)
		}
	}
}

// A token with the kid of a new key triggers a reading of the keys. While the address fails, the
// previous keys stay in use. Invented kids trigger at most one reading in rushEvery.
func TestRotation(t *testing.T) {
	k := testKeys()
	var (
		content atomic.Pointer[[]byte]
		calls   atomic.Int32
	)
	set := func(b []byte) { content.Store(&b) }
	set(jwks(jose.JSONWebKey{KeyID: "old", Key: &k.rsa.PublicKey}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if b := *content.Load(); b != nil {
			_, _ = w.Write(b)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer srv.Close()
	noted := make(chan error, 8)
	keys, err := Open(t.Context(), srv.URL, func(err error) { noted <- err })
	if err != nil {
		t.Fatal(err)
	}
	var clock atomic.Int64
	keys.now = func() time.Time { return noon.Add(time.Duration(clock.Load())) }
	keys.readAt = noon
	v, err := NewVerifier(Config{Keys: keys, Issuer: "https://id.example", Audience: "tidemark", Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	old := sign(t, jose.RS256, k.rsa, map[string]string{"kid": "old"}, claims())
	fresh := sign(t, jose.RS256, k.other, map[string]string{"kid": "new"}, claims())
	verify := func(token string) error { _, err := v.Verify(context.Background(), token); return err }
	if err := verify(old); err != nil {
		t.Fatal(err)
	}
	set(jwks(jose.JSONWebKey{KeyID: "new", Key: &k.other.PublicKey}))
	if err := verify(fresh); !errors.Is(err, ErrInvalid) || calls.Load() != 1 {
		t.Errorf("within %v of the last reading: %v after %d readings", rushEvery, err, calls.Load())
	}
	clock.Add(int64(rushEvery) + 1)
	if err := verify(fresh); err != nil || calls.Load() != 2 {
		t.Errorf("the new key: %v after %d readings", err, calls.Load())
	}
	if err := verify(old); !errors.Is(err, ErrInvalid) {
		t.Errorf("the key that was taken away: %v", err)
	}
	set(nil)
	clock.Add(int64(refreshEvery) + 1)
	if err := verify(fresh); err != nil {
		t.Errorf("while the address fails: %v", err)
	}
	if err := <-noted; !strings.Contains(err.Error(), "500") {
		t.Errorf("noted: %v", err)
	}
	if err := verify(fresh); err != nil {
		t.Errorf("after it failed: %v", err)
	}
}

func TestAnAddressThatLeadsElsewhere(t *testing.T) {
	srv := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/", http.StatusFound))
	defer srv.Close()
	if _, err := Open(t.Context(), srv.URL, nil); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("%v", err)
	}
}

// judged checks whether a token is valid, and how often the keys have been read so far.
func judged(t *testing.T, keys *Keys, readings *atomic.Int32) func(what, token string, valid bool, want int32) {
	t.Helper()
	v, err := NewVerifier(Config{Keys: keys, Issuer: "https://id.example", Audience: "tidemark", Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	return func(what, token string, valid bool, want int32) {
		t.Helper()
		if _, err := v.Verify(t.Context(), token); (err == nil) != valid || readings.Load() != want {
			t.Errorf("%s: %v after %d readings, want valid %v after %d", what, err, readings.Load(), valid, want)
		}
	}
}

// Every token makes the verifier check the file, so the next token is already verified with the new
// keys, named or not. A file that cannot be read removes no key, is read at most once a second, and
// is reported once.
func TestRotationOfAFile(t *testing.T) {
	k := testKeys()
	name := file(t, publicPEM(t, &k.rsa.PublicKey))
	noted := make(chan error, 100)
	keys, err := Open(t.Context(), name, func(err error) { noted <- err })
	if err != nil {
		t.Fatal(err)
	}
	var readings atomic.Int32
	read := keys.read
	keys.read = func(ctx context.Context) ([]key, error) { readings.Add(1); return read(ctx) }
	now := keys.readAt
	keys.now = func() time.Time { return now }
	old, fresh := sign(t, jose.RS256, k.rsa, nil, claims()), sign(t, jose.RS256, k.other, nil, claims())
	is := judged(t, keys, &readings)
	replace := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(name+".new", content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	is("before", old, true, 0)
	is("a key that is not there yet", fresh, false, 0)
	replace(publicPEM(t, &k.other.PublicKey))
	is("the new key", fresh, true, 1)
	is("the key that was taken away", old, false, 1)
	replace([]byte("half of a key"))
	for range 10 {
		is("while the file is broken", fresh, true, 2)
	}
	now = now.Add(retryEvery + 1)
	is("a second later", fresh, true, 3)
	replace(publicPEM(t, &k.rsa.PublicKey))
	is("mended", old, true, 4)
	if len(noted) != 1 {
		t.Errorf("told %d times that the file is broken", len(noted))
	}
}

// Keys at an address, with tokens that name no key: a token that no key has signed triggers a
// reading, at most as often as an invented kid does. After a long time without tokens the keys are
// read before they are used, because one may have been removed.
func TestRotationWithoutNames(t *testing.T) {
	k := testKeys()
	var content atomic.Pointer[[]byte]
	var calls atomic.Int32
	set := func(b []byte) { content.Store(&b) }
	set(jwks(jose.JSONWebKey{Key: &k.rsa.PublicKey}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = w.Write(*content.Load())
	}))
	defer srv.Close()
	keys, err := Open(t.Context(), srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := keys.readAt
	keys.now = func() time.Time { return now }
	old, fresh := sign(t, jose.RS256, k.rsa, nil, claims()), sign(t, jose.RS256, k.other, nil, claims())
	is := judged(t, keys, &calls)
	set(jwks(jose.JSONWebKey{Key: &k.other.PublicKey}))
	for range 3 {
		is("just after a reading", fresh, false, 1)
	}
	now = now.Add(rushEvery + 1)
	is("a little later", fresh, true, 2)
	is("the key that was taken away", old, false, 2)
	set(jwks(jose.JSONWebKey{Key: &k.rsa.PublicKey}))
	now = now.Add(2*refreshEvery + 1)
	is("a key that was taken away in a long silence", fresh, false, 3)
}
