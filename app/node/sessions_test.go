package node_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Every group of a node has the node's session timeout: the fold's, the cache's and the gateway's.
// A group with a longer one would stand still for that long after a kill.
func TestEveryGroupHasTheSessionTimeout(t *testing.T) {
	s := newStopping(t)
	s.config.SessionTimeout = 7 * time.Second
	var mu sync.Mutex
	sessions := map[string]time.Duration{} // by group
	s.brokers.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.brokers.KeepControl()
		if join, is := r.(*kmsg.JoinGroupRequest); is {
			mu.Lock()
			sessions[strings.TrimPrefix(join.Group, s.config.Group)] = time.Duration(join.SessionTimeoutMillis) * time.Millisecond
			mu.Unlock()
		}
		return nil, nil, false
	})
	n, run := s.start()
	testkit.Await(t, "the groups of the fold and of the cache are joined", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return n.Ready().Ready && sessions[""] > 0 && sessions["-cache"] > 0
	})
	if err := run(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for group, session := range sessions {
		if session != 7*time.Second {
			t.Errorf("the session of the group%s is %v", group, session)
		}
	}
}
