package admission

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/authtest"
)

// Bytes in a URL that are not UTF-8 are no user id: in JSON they would all become the same user,
// U+FFFD.
func TestUsersOfAURLAreUTF8(t *testing.T) {
	d := New(Config{})
	for named, want := range map[string]int{
		"%ff%fe": http.StatusBadRequest, "ann%80": http.StatusBadRequest, "%ed%a0%80": http.StatusBadRequest, "%c0%80": http.StatusBadRequest,
		"a%00": http.StatusBadRequest, "": http.StatusBadRequest, "ann": 0, "%C3%A4nn": 0, "%EF%BF%BD": 0,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/socket?user_id="+named, nil)
		if _, status, why := d.Identify(r); status != want {
			t.Errorf("%q: %d %s, want %d", named, status, why, want)
		}
	}
}

// A token connects for its own user. A token that may read and publish for others connects for the
// user in the URL; either scope alone is not enough.
func TestWhomATokenConnectsFor(t *testing.T) {
	d := door(Config{Verifier: authtest.Verifier(t)})
	ann := authtest.Token(t, "ann", time.Hour)
	for _, c := range []struct{ name, token, named, user string }{
		{"their own", ann, "", "ann"},
		{"their own, by name", ann, "ann", "ann"},
		{"somebody else's", ann, "bob", ""},
		{"a service's", authtest.Service(t), "bob", "bob"},
		{"one that may read and publish", authtest.Scoped(t, "desk", "read publish"), "bob", "bob"},
		{"one that may only read", authtest.Scoped(t, "desk", "read"), "bob", ""},
		{"one that may only publish", authtest.Scoped(t, "desk", "publish"), "bob", ""},
		{"one that expired", authtest.Token(t, "ann", -time.Hour), "", ""},
		{"none", "nonsense", "", ""},
	} {
		who, err := d.Judge(t.Context(), c.token, c.named)
		if who.User != c.user || (err == nil) != (c.user != "") {
			t.Errorf("%s token: it connects for %q (%v), want %q", c.name, who.User, err, c.user)
		}
	}
}

// The place of an invalid token decides how it is refused: by the status, or by a close that a
// browser can see. Without a token the first frame must contain it.
func TestHowATokenIsRefused(t *testing.T) {
	d := door(Config{Verifier: authtest.Verifier(t)})
	header, protocol, nowhere := asks(t, "", ""), asks(t, "", ""), asks(t, "", "?user_id=ann")
	header.Header.Set("Authorization", "Bearer nonsense")
	protocol.Header.Set("Sec-WebSocket-Protocol", "tidemark.v1, tidemark.bearer.nonsense")
	if _, status, _ := d.Identify(header); status != http.StatusUnauthorized {
		t.Errorf("in a header: %d", status)
	}
	if who, status, _ := d.Identify(protocol); status != 0 || !who.Denied || who.User != "" {
		t.Errorf("in a subprotocol: %d, %+v", status, who)
	}
	if who, status, _ := d.Identify(nowhere); status != 0 || who.Denied || who.User != "" || who.Named != "ann" {
		t.Errorf("nowhere: %d, %+v", status, who)
	}
	if got := protocols(protocol); !slices.Equal(got, []string{"tidemark.v1", "tidemark.bearer.nonsense"}) {
		t.Errorf("subprotocols: %q", got)
	}
}
