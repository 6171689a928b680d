package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/auth"
)

// A node with the key accepts the token, for what the flags say and for no more.
func TestToken(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("a secret for this test, of 32 bytes or more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := func(token, issuer string) (auth.Identity, error) {
		keys, err := auth.Open(t.Context(), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := auth.NewVerifier(auth.Config{Keys: keys, Issuer: issuer, Audience: "tidemark"})
		if err != nil {
			t.Fatal(err)
		}
		return v.Verify(t.Context(), strings.TrimSpace(token))
	}
	token := ok(t, "", "token", "ann", "--key", key, "--issuer", "demo", "--for", "2h")
	id, err := verify(token, "demo")
	if left := time.Until(id.Expires); err != nil || id.Subject != "ann" || id.Scopes != 0 || id.ID == "" || left < time.Hour || left > 3*time.Hour {
		t.Errorf("%+v, %v", id, err)
	}
	if _, err := verify(token, "another"); err == nil {
		t.Error("a token of another issuer is accepted")
	}
	if again := ok(t, "", "token", "ann", "--key", key, "--issuer", "demo", "--for", "2h"); again == token {
		t.Error("two tokens are the same, so that one cannot be revoked")
	}
	if id, err := verify(ok(t, "", "token", "ops", "--key", key, "--issuer", "demo", "--scope", "read,admin"), "demo"); err != nil || id.Scopes != auth.ScopeRead|auth.ScopeAdmin {
		t.Errorf("%+v, %v", id, err)
	}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"token", "ann", "--issuer", "demo"}, "--key", exitUsage},
		{[]string{"token", "ann", "--key", key}, "--issuer", exitUsage},
		{[]string{"token", "", "--key", key, "--issuer", "demo"}, "name the user", exitUsage},
		{[]string{"token", "ann", "--key", key, "--issuer", "demo", "--for=-1h"}, "--for -1h", exitUsage},
		{[]string{"token", "ann", "--key", key, "--issuer", "demo", "--scope", "root"}, "root", exitUsage},
		{[]string{"token", "ann", "--key", key + ".none", "--issuer", "demo"}, "no such file", exitFailed},
	} {
		if r := tidemark(t, "", c.args...); r.code != c.code || !strings.Contains(r.errout, c.want) || r.out != "" {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}
