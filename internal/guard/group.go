package guard

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Group is x/sync's errgroup.Group, but a panic in a function fails the group with an *Error. Make
// it with WithContext.
type Group struct{ g *errgroup.Group }

// WithContext returns a Group, and a context that ends when one of its functions fails or Wait
// returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	return &Group{g}, ctx
}

// SetLimit bounds how many functions run at a time. It is called before Go.
func (g *Group) SetLimit(n int) { g.g.SetLimit(n) }

// Go runs f in a goroutine of its own, once the limit lets it.
func (g *Group) Go(where string, f func() error) {
	g.g.Go(func() error { return Err(where, f) })
}

// Wait waits for all functions and returns the first error.
func (g *Group) Wait() error { return g.g.Wait() }
