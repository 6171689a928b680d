package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// write replaces a file as an operator does. It sets the time, because two writes may fall into one
// tick of the file system.
func write(t *testing.T, name, text string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// A caller that stays connected is disconnected within a minute after a revocation (of the user,
// the token or the key), and at the end of the token. No other caller is.
func TestWhoIsRevokedIsOutWithinAMinute(t *testing.T) {
	k := testKeys()
	two := string(append(publicPEM(t, &k.rsa.PublicKey), publicPEM(t, &k.ec.PublicKey)...))
	one := string(publicPEM(t, &k.ec.PublicKey))
	for name, c := range map[string]struct {
		keys, list string
		out        map[string]error
	}{
		"a user":         {two, "# gone\nsub:ann\n", map[string]error{"ann": ErrRevoked}},
		"a token":        {two, "\njti:b-1\r\n", map[string]error{"bob": ErrRevoked}},
		"a key":          {one, "", map[string]error{"ann": ErrRevoked, "dan": ErrExpired}},
		"of other names": {two, "sub:an\nsub:ann2\nsub:Ann\njti:b\njti:\tb-1 2\nsub:b-1\njti:ann\n", nil},
		"nobody":         {two, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			keyFile, listFile := file(t, []byte(two)), file(t, nil)
			synctest.Test(t, func(t *testing.T) {
				keys, err := Open(t.Context(), keyFile, nil)
				if err != nil {
					t.Fatal(err)
				}
				revoked, err := OpenRevoked(t.Context(), listFile, nil)
				if err != nil {
					t.Fatal(err)
				}
				v, err := NewVerifier(Config{Keys: keys, Revoked: revoked, Issuer: "https://id.example", Audience: "tidemark"})
				if err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				ends := map[string]error{}
				token := map[string]string{}
				for user, of := range map[string]struct {
					alg  jose.SignatureAlgorithm
					key  any
					left time.Duration
				}{"ann": {jose.RS256, k.rsa, time.Hour}, "bob": {jose.ES256, k.ec, time.Hour}, "dan": {jose.ES256, k.ec, 40 * time.Second}} {
					token[user] = sign(t, of.alg, of.key, nil, claims("sub", user, "jti", user[:1]+"-1", "exp", time.Now().Add(of.left-leeway).Unix(), "nbf", nil))
					id, err := v.Verify(t.Context(), token[user])
					if err != nil {
						t.Fatal(err)
					}
					defer v.Hold(id, func(why error) {
						mu.Lock()
						defer mu.Unlock()
						ends[user] = why
					})()
				}
				time.Sleep(5 * time.Second)
				write(t, keyFile, c.keys, time.Now())
				write(t, listFile, c.list, time.Now())
				time.Sleep(time.Minute)
				synctest.Wait()
				want := map[string]error{"dan": ErrExpired}
				for user, why := range c.out {
					want[user] = why
				}
				mu.Lock()
				defer mu.Unlock()
				for _, user := range []string{"ann", "bob", "dan"} {
					if !errors.Is(ends[user], want[user]) || (want[user] == nil) != (ends[user] == nil) {
						t.Errorf("%s: ended with %v, want %v", user, ends[user], want[user])
					}
					if _, err := v.Verify(t.Context(), token[user]); (err == nil) != (want[user] == nil) {
						t.Errorf("%s comes again: %v", user, err)
					}
				}
			})
		})
	}
}

// A caller that has left is no longer checked, and without callers no timer runs.
func TestReleaseEndsTheJudging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &Verifier{c: Config{Now: time.Now, Keys: &Keys{now: time.Now, readAt: time.Now()}}, holds: holds{every: judgeEvery, all: map[*caller]struct{}{}}}
		release := v.Hold(Identity{Subject: "ann", Expires: time.Now().Add(time.Minute), key: fingerprint{1}}, func(err error) { t.Errorf("ended after its release: %v", err) })
		release()
		if len(v.holds.all) != 0 || v.holds.timer != nil {
			t.Error("somebody is held still")
		}
		time.Sleep(time.Hour)
		var none *Verifier
		none.Hold(Identity{}, nil)()
	})
}

// While the list cannot be read, tokens from the last reading stay revoked. A list is checked when
// it is read.
func TestAListThatCannotBeRead(t *testing.T) {
	var status, calls atomic.Int64
	status.Store(http.StatusOK)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte("sub:ann\n"))
	}))
	defer srv.Close()
	now := noon
	var reported atomic.Pointer[error]
	r, err := OpenRevoked(t.Context(), srv.URL, func(err error) { reported.Store(&err) })
	if err != nil {
		t.Fatal(err)
	}
	r.now, r.checked = func() time.Time { return now }, now
	status.Store(http.StatusInternalServerError)
	now = now.Add(askEvery)
	r.has(Identity{})
	for deadline := time.Now().Add(2 * time.Minute); reported.Load() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the failure is not said")
		}
	}
	if !r.has(Identity{Subject: "ann"}) || calls.Load() != 2 {
		t.Errorf("ann is let in again after %d calls", calls.Load())
	}
	if _, err := OpenRevoked(t.Context(), "http://id.example/revoked", nil); err == nil || !strings.Contains(err.Error(), "use https") {
		t.Errorf("plain http: %v", err)
	}
	for _, text := range []string{"ann", "sub:", "user:ann", "sub:ann\njti"} {
		if _, err := OpenRevoked(t.Context(), file(t, []byte(text)), nil); err == nil || !strings.Contains(err.Error(), "neither sub:USER nor jti:ID") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
