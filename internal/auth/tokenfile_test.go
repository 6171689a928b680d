package auth

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// A service token is read again when its file changes. An expired or forged token, or a user's, is
// not used.
func TestATokenFileIsReadAgain(t *testing.T) {
	now := noon
	keys, err := Open(t.Context(), file(t, secret), nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVerifier(Config{Keys: keys, Issuer: "https://id.example", Audience: "tidemark", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	token := func(left time.Duration, scope string) string {
		return sign(t, jose.HS256, secret, nil, claims("scope", scope, "exp", now.Add(left).Unix()))
	}
	first := token(15*time.Second, "service")
	name := file(t, []byte(first+"\n"))
	f, err := OpenTokenFile(t.Context(), name, v, ScopeService)
	if err != nil {
		t.Fatal(err)
	}
	f.now = func() time.Time { return now }
	f.files.Begin(now, name)
	if got, err := f.Token(); err != nil || got != first {
		t.Errorf("%.10s, %v", got, err)
	}
	later := func(d time.Duration, text, want string) {
		t.Helper()
		now = now.Add(d)
		if text != "" {
			write(t, name, text, now)
		}
		switch got, err := f.Token(); {
		case want == "" && (err != nil || got != strings.TrimSpace(text)):
			t.Errorf("got %.10s, %v", got, err)
		case want != "" && (err == nil || got != "" || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name)):
			t.Errorf("got %.10s, %v; want %q", got, err, want)
		}
	}
	later(16*time.Second, "", "has expired")
	later(2*time.Second, token(time.Minute, "service"), "")
	later(2*time.Second, token(time.Minute, "read"), "does not have the scope service")
	later(2*time.Second, "nonsense", "put a new one there")
	later(2*time.Second, token(time.Minute, "read publish erase admin"), "")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	later(2*time.Second, "", "cannot be read")
	later(2*time.Second, token(time.Minute, "service"), "")
	if _, err := OpenTokenFile(t.Context(), name+"x", v, ScopeService); err == nil {
		t.Error("a file that is not there is taken")
	}
}
