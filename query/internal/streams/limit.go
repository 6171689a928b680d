// Package streams limits the streams of changes of a node.
//
//	limit.go  limits for a node and for each user
package streams

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/query/internal/fault"
)

// RelayFactor is how many nodes a cluster may have before the limits on watches also limit those
// between nodes.
const RelayFactor = 32

// Limit limits open streams, in total and for one user.
type Limit struct {
	max, maxPerUser int
	open            prometheus.Gauge

	mu      sync.Mutex
	total   int
	perUser map[string]int
}

// NewLimit creates a Limit; open is set to the number of open streams.
func NewLimit(limit, perUser int, open prometheus.Gauge) *Limit {
	return &Limit{max: limit, maxPerUser: perUser, open: open, perUser: map[string]int{}}
}

// Acquire takes a slot; release frees it.
func (l *Limit) Acquire(userID string) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.total >= l.max:
		return nil, fault.Exhausted("this node has %d watches open, which is its limit", l.total)
	case l.perUser[userID] >= l.maxPerUser:
		return nil, fault.Exhausted("user_id has %d watches open on this node, which is the limit for one user", l.perUser[userID])
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
