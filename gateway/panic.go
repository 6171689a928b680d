package gateway

import (
	"github.com/tidemark/tidemark/internal/guard"
)

// A panic ends one answer, one connection or one session of the feed, and the gateway continues. A
// new session of the feed reads every user's inbox again, and user.change keeps the totals right
// until then.

// plant lets a test panic at a place.
func (g *Gateway) plant(where string) {
	if g.cfg.planted != nil {
		g.cfg.planted(where)
	}
}

// panicked returns a function that logs a panic and its consequence.
func (g *Gateway) panicked(consequence string) func(*guard.Error) {
	return guard.Log(g.cfg.Logger, consequence)
}
