package gateway

import (
	"testing"

	"github.com/tidemark/tidemark/gateway/internal/interest"
	"github.com/tidemark/tidemark/internal/guard"
)

// TestAPanicKeepsNoShard: after a panic of the feed under a shard's lock, the lock is free, because
// the feed restarts and all users continue.
func TestAPanicKeepsNoShard(t *testing.T) {
	broken := func() *Gateway {
		g := &Gateway{hubs: newHubs(4, nil)}
		g.hubs.of("ann").users["ann"] = nil // makes the feed panic
		return g
	}
	for name, f := range map[string]func(*Gateway){
		"begin":  func(g *Gateway) { g.begin(nil) },
		"record": func(g *Gateway) { g.hubs.each(interest.All, func(*hub) { panic("planted") }) },
	} {
		g := broken()
		if err := guard.Do("the feed", func() { f(g) }); err == nil {
			t.Errorf("%s: nothing panicked", name)
		}
		for _, h := range g.hubs.list {
			if !h.mu.TryLock() {
				t.Errorf("%s: shard %d is locked for good", name, h.number)
			}
		}
	}
}
