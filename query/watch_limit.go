package query

import (
	"crypto/subtle"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// relayFactor is how many nodes a cluster may have before the limits on watches bind between nodes.
const relayFactor = 32

// fromNode reports whether a call comes from another node, for one of its own callers. Anybody could say so: it shows the
// key that this node told the group alone.
func (s *service) fromNode(h http.Header) bool {
	own := s.node.RelayKey(s.self)
	return own != "" && subtle.ConstantTimeCompare([]byte(h.Get(headerRelayKey)), []byte(own)) == 1
}

// watchLimit bounds open streams, together and for one user.
type watchLimit struct {
	max, maxPerUser int
	open            prometheus.Gauge

	mu      sync.Mutex
	total   int
	perUser map[string]int
}

func newWatchLimit(limit, perUser int, open prometheus.Gauge) *watchLimit {
	return &watchLimit{max: limit, maxPerUser: perUser, open: open, perUser: map[string]int{}}
}

// acquire takes a place; release gives it back.
func (l *watchLimit) acquire(userID string) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.total >= l.max:
		return nil, exhausted("this node has %d watches open, which is its limit", l.total)
	case l.perUser[userID] >= l.maxPerUser:
		return nil, exhausted("user_id has %d watches open on this node, which is the limit for one user", l.perUser[userID])
	}
	l.total++
	l.perUser[userID]++
	l.open.Inc()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.total--
		if l.perUser[userID]--; l.perUser[userID] == 0 {
			delete(l.perUser, userID)
		}
		l.open.Dec()
	}, nil
}
