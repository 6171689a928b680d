package gateway

import "errors"

var errNoFeed = errors.New("the feed has not begun")

// setFeed sets why the feed does not run, or nil.
func (g *Gateway) setFeed(err error) { g.feedState.Store(&err) }

// Ready reports whether sockets are served, with the reasons if not.
func (g *Gateway) Ready() (bool, []string) {
	if g.draining.Load() {
		return false, []string{"gateway: draining"}
	}
	if err := *g.feedState.Load(); err != nil {
		return false, []string{"gateway: " + err.Error()}
	}
	if err := g.mayAsk(); err != nil {
		return false, []string{"gateway: " + err.Error()}
	}
	return true, nil
}
