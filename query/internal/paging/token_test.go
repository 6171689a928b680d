package paging

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func drawKey(t *rapid.T, label string) Key {
	return Key{
		Unread: rapid.Bool().Draw(t, label+" unread"),
		At:     rapid.Int64Range(0, 3).Draw(t, label+" at"),
		ID:     rapid.StringMatching(`[a-cé]{1,3}`).Draw(t, label+" id"),
	}
}

func TestSortKeysAreATotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawKey(t, "a"), drawKey(t, "b"), drawKey(t, "c")
		if a != b && a.Before(b) == b.Before(a) {
			t.Fatalf("%v and %v are not ordered", a, b)
		}
		if a.Before(a) {
			t.Fatalf("%v is before itself", a)
		}
		if a.Before(b) && b.Before(c) && !a.Before(c) {
			t.Fatalf("%v < %v < %v, but not %v < %v", a, b, c, a, c)
		}
		if got := a.Compare(b); (got < 0) != a.Before(b) || (got == 0) != (a == b) {
			t.Fatalf("compare(%v, %v) = %d", a, b, got)
		}
	})
}

func TestOrderOfDesign(t *testing.T) {
	inOrder := []Key{
		{true, 200, "z"}, {true, 100, "a"}, {true, 100, "b"}, {true, 0, "none"},
		{false, 300, "newest"}, {false, 50, "old"}, {false, 0, "empty"},
	}
	for i := range len(inOrder) - 1 {
		if !inOrder[i].Before(inOrder[i+1]) {
			t.Errorf("%v must be before %v", inOrder[i], inOrder[i+1])
		}
	}
}

func TestPageTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawKey(t, "k")
		k.At = rapid.Int64Range(0, 1<<45).Draw(t, "at")
		user := rapid.StringN(1, 20, 255).Draw(t, "user")
		unreadOnly := rapid.Bool().Draw(t, "unread only")
		token := Encode(user, unreadOnly, k, noon)
		got, err := Decode(token, user, unreadOnly, noon.Add(MaxAge))
		if err != nil || got != k {
			t.Fatalf("got %v, %v, want %v", got, err, k)
		}
	})
}

func TestPageTokenRefusals(t *testing.T) {
	token := Encode("ann", false, Key{true, 7, "c1"}, noon)
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte{2}, raw[1:]...)
	for _, c := range []struct {
		name, token, user string
		unreadOnly        bool
		now               time.Time
		message           string
	}{
		{"another user", token, "bob", false, noon, "another user_id, label or archived"},
		{"another filter", token, "ann", true, noon, "another unread_only"},
		{"aged", token, "ann", false, noon.Add(MaxAge + time.Millisecond), "has aged"},
		{"cut", token[:len(token)-1], "ann", false, noon, "is no next_page_token"},
		{"grown", token + "A", "ann", false, noon, "is no next_page_token"},
		{"words", "next page please", "ann", false, noon, "is no next_page_token"},
		{"short", "AQ", "ann", false, noon, "is no next_page_token"},
		{"huge", strings.Repeat("A", 1<<20), "ann", false, noon, "is no next_page_token"},
		{"another version", base64.RawURLEncoding.EncodeToString(newer), "ann", false, noon, "is no next_page_token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(c.token, c.user, c.unreadOnly, c.now)
			if connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Fatalf("got %v, want invalid_argument", err)
			}
			if !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), "start again") {
				t.Errorf("says %q, want %q and how to go on", err, c.message)
			}
		})
	}
	for scope, want := range map[string]bool{"ann": true, "bob": false} {
		if IsOf(token, scope) != want {
			t.Errorf("the token is of %s: %t", scope, !want)
		}
	}
	if IsOf("", "ann") || IsOf("next page please", "ann") {
		t.Error("what is no token is of nobody")
	}
	// Another node has checked the age of a token that it forwards: the zero time skips this check
	// alone.
	if _, err := Decode(token, "ann", false, time.Time{}); err != nil {
		t.Errorf("without a clock: %v", err)
	}
}

func FuzzDecodePageToken(f *testing.F) {
	f.Add(Encode("ann", false, Key{true, 7, "c1"}, noon))
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, token string) {
		k, err := Decode(token, "ann", false, time.Time{})
		if err == nil && Encode("ann", false, k, noon) == "" {
			t.Fatal("empty token")
		}
	})
}
