package auth

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// notes collects the errors that operators see.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, err.Error())
}

func (n *notes) has(parts ...string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.list {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}

// TestPanicInTheReadingOfKeys: if reading the keys panics, the previous keys stay in use, the error
// is reported, and the keys are read again. The panic is planted in the check of the file and in
// its reading.
func TestPanicInTheReadingOfKeys(t *testing.T) {
	k := testKeys()
	old, fresh := sign(t, jose.RS256, k.rsa, nil, claims()), sign(t, jose.RS256, k.other, nil, claims())
	for name, plant := range map[string]func(k *Keys, bug func()){
		"reading": func(k *Keys, bug func()) {
			read := k.read
			k.read = func(ctx context.Context) ([]key, error) { bug(); return read(ctx) }
		},
		"looking": func(k *Keys, bug func()) {
			look := k.stat
			k.stat = func() os.FileInfo { info := look(); bug(); return info }
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := file(t, publicPEM(t, &k.rsa.PublicKey))
			var noted notes
			keys, err := Open(t.Context(), at, noted.add)
			if err != nil {
				t.Fatal(err)
			}
			now := keys.readAt
			keys.now = func() time.Time { return now }
			v, err := NewVerifier(Config{Keys: keys, Issuer: "https://id.example", Audience: "tidemark", Now: func() time.Time { return noon }})
			if err != nil {
				t.Fatal(err)
			}
			valid := func(token string) bool { _, err := v.Verify(t.Context(), token); return err == nil }
			var calls atomic.Int32
			plant(keys, func() {
				if n := calls.Add(1); n == 1 && name == "reading" || n == 2 && name == "looking" { // the first check is the caller's
					panic("planted")
				}
			})
			write(t, at, string(publicPEM(t, &k.other.PublicKey)), time.Now().Add(time.Minute))
			if !valid(old) {
				t.Error("with a bug the keys of before do not hold")
			}
			if !noted.has("the previous ones stay in use", "panicked: planted") {
				t.Errorf("operators were told %v", noted.list)
			}
			for range 3 {
				now = now.Add(retryEvery + 1)
				valid(fresh)
			}
			if valid(old) || !valid(fresh) {
				t.Error("after the bug the keys are not read again")
			}
			if !keys.mu.TryLock() {
				t.Fatal("the lock is held")
			}
			keys.mu.Unlock()
		})
	}
}

// TestPanicInTheReadingOfRevokedTokens: the previous list stays in use, the error is reported, and
// the next reading revokes a user who was added meanwhile, although the file counts as read.
func TestPanicInTheReadingOfRevokedTokens(t *testing.T) {
	at := file(t, []byte("sub:ann\n"))
	var noted notes
	r, err := OpenRevoked(t.Context(), at, noted.add)
	if err != nil {
		t.Fatal(err)
	}
	now := r.checked
	r.now = func() time.Time { return now }
	read, bugs := r.read, 1
	r.read = func(ctx context.Context) ([]byte, error) {
		if bugs--; bugs == 0 {
			panic("planted")
		}
		return read(ctx)
	}
	write(t, at, "sub:ann\nsub:bob\n", time.Now().Add(time.Minute))
	now = now.Add(lookEvery)
	if !r.has(Identity{Subject: "ann"}) || r.has(Identity{Subject: "bob"}) {
		t.Error("with a bug the list of before does not hold")
	}
	if !noted.has("cannot be read again", "panicked: planted") {
		t.Errorf("operators were told %v", noted.list)
	}
	now = now.Add(lookEvery)
	if !r.has(Identity{Subject: "ann"}) || !r.has(Identity{Subject: "bob"}) {
		t.Error("after the bug the list is not read again")
	}
}

// TestPanicInTheReadingOfATokenFile: the node's own token is read again after a panic, although the
// file has not changed.
func TestPanicInTheReadingOfATokenFile(t *testing.T) {
	k := testKeys()
	at := file(t, []byte("old"))
	f, err := OpenTokenFile(t.Context(), at, nil, ScopeService)
	if err != nil {
		t.Fatal(err)
	}
	now := f.now()
	f.now = func() time.Time { return now }
	write(t, at, sign(t, jose.RS256, k.rsa, nil, claims()), time.Now().Add(time.Minute))
	f.v = &Verifier{} // without keys it panics
	now = now.Add(2 * time.Second)
	if _, err := f.Token(); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("with a bug: %v", err)
	}
	f.v = nil
	now = now.Add(2 * time.Second)
	if token, err := f.Token(); err != nil || token == "old" {
		t.Errorf("after the bug: %q, %v", token, err)
	}
}

// TestPanicOfWhoIsTold: the function that disconnects one of several revoked or expired callers
// panics. All others are disconnected, the error is reported, and the next check disconnects that
// caller too.
func TestPanicOfWhoIsTold(t *testing.T) {
	k := testKeys()
	keyFile, listFile := file(t, publicPEM(t, &k.rsa.PublicKey)), file(t, nil)
	synctest.Test(t, func(t *testing.T) {
		var noted notes
		keys, err := Open(t.Context(), keyFile, noted.add)
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
		ends, tries := map[string]error{}, map[string]int{}
		for user, left := range map[string]time.Duration{"ann": time.Hour, "bob": time.Hour, "cleo": 25 * time.Second} {
			token := sign(t, jose.RS256, k.rsa, nil, claims("sub", user, "exp", time.Now().Add(left-leeway).Unix(), "nbf", nil))
			id, err := v.Verify(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Hold(id, func(why error) {
				mu.Lock()
				defer mu.Unlock()
				if tries[user]++; tries[user] == 1 && user != "bob" {
					panic("planted for " + user)
				}
				ends[user] = why
			})()
		}
		write(t, listFile, "sub:ann\nsub:bob\n", time.Now().Add(time.Minute))
		time.Sleep(2 * judgeEvery)
		mu.Lock()
		if !errors.Is(ends["bob"], ErrRevoked) {
			t.Errorf("beside a bug: %v", ends)
		}
		mu.Unlock()
		time.Sleep(3 * judgeEvery)
		mu.Lock()
		defer mu.Unlock()
		if !errors.Is(ends["ann"], ErrRevoked) || !errors.Is(ends["cleo"], ErrExpired) || tries["ann"] != 2 || tries["cleo"] != 2 {
			t.Errorf("after the bugs: %v, tries %v", ends, tries)
		}
		if !noted.has("was revoked", "planted for ann") || !noted.has("has expired", "planted for cleo") {
			t.Errorf("operators were told %v", noted.list)
		}
	})
}
