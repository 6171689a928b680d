package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/auth"
)

// Names of headers (of metadata, in gRPC).
const (
	// HeaderHops counts how often a call was forwarded.
	HeaderHops = "Tidemark-Hops"
	// HeaderPartitions restricts a call about a user to these partitions of the receiving node
	// ("0,3,7").
	HeaderPartitions = "Tidemark-Partitions"
	// header has the statement: version, time, hash of the body, caller and signature, separated by
	// spaces.
	header = "Tidemark-Peer"
)

const (
	version = "v1"
	none    = "-"
	// leeway is how much the clocks of nodes may differ. For this time, a reader of the wire can
	// also repeat a statement: the same call, to the same node.
	leeway = 30 * time.Second
)

// statement has the facts about a forwarded call that a node signs.
type statement struct {
	at     int64 // Unix milliseconds
	body   string
	caller string
	mac    string
}

// caller is the authenticated caller, as JSON.
type caller struct {
	Subject string `json:"sub"`
	Scopes  string `json:"scope,omitempty"`
	ID      string `json:"jti,omitempty"`
	Expires int64  `json:"exp,omitempty"` // Unix milliseconds; 0: never
}

var encoding = base64.RawURLEncoding

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return encoding.EncodeToString(sum[:])
}

// encodeCaller returns an identity in the form of a statement.
func encodeCaller(id auth.Identity, known bool) string {
	if !known {
		return none
	}
	c := caller{Subject: id.Subject, Scopes: id.Scopes.String(), ID: id.ID}
	if !id.Expires.IsZero() {
		c.Expires = id.Expires.UnixMilli()
	}
	b, _ := json.Marshal(c) // strings and a number
	return encoding.EncodeToString(b)
}

// identity reads the form of encodeCaller. known is false if the other node has no keys.
func (s *statement) identity() (id auth.Identity, known bool, err error) {
	if s.caller == none {
		return id, false, nil
	}
	b, err := encoding.DecodeString(s.caller)
	var c caller
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || c.Subject == "" {
		return id, false, errors.New("its caller is malformed")
	}
	id = auth.Identity{Subject: c.Subject, Scopes: auth.ParseScopes(c.Scopes), ID: c.ID}
	if c.Expires != 0 {
		id.Expires = time.UnixMilli(c.Expires)
	}
	return id, true, nil
}

// sign makes the signature of a statement about a request to a host.
func (s *statement) sign(key []byte, r *http.Request, host string) string {
	m := hmac.New(sha256.New, key)
	// None of the values can contain a line feed, because net/http accepts none in a method, target
	// or header.
	fmt.Fprintf(m, "tidemark peer %s\n%s\n%s\n%s\n%d\n%s\n%s\n%s\n%s\n", version, r.Method, r.URL.RequestURI(), host, s.at, s.body,
		r.Header.Get(HeaderHops), r.Header.Get(HeaderPartitions), s.caller)
	return encoding.EncodeToString(m.Sum(nil))
}

// String returns the statement as a header.
func (s *statement) String() string {
	return strings.Join([]string{version, strconv.FormatInt(s.at, 10), s.body, s.caller, s.mac}, " ")
}

func parseStatement(text string) (*statement, error) {
	f := strings.Split(text, " ")
	if len(f) != 5 || f[0] != version {
		return nil, fmt.Errorf("it is not of version %s", version)
	}
	at, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return nil, errors.New("its time is malformed")
	}
	return &statement{at: at, body: f[2], caller: f[3], mac: f[4]}, nil
}

// signedWith reports whether one of some keys made the signature.
func (s *statement) signedWith(keys [][]byte, r *http.Request, host string) bool {
	ok := false
	for _, key := range keys {
		ok = hmac.Equal([]byte(s.sign(key, r, host)), []byte(s.mac)) || ok
	}
	return ok
}
