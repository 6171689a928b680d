package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/query/queryv1"
)

func (g *Gateway) answerAsks(ctx context.Context) {
	for {
		select {
		case a := <-g.asks:
			if err := guard.Do("the asking of an owner", func() { g.answerAsk(ctx, a) }); err != nil {
				g.panicked("an owner is asked once more")(guard.Of(err))
				g.askAgain(ctx, a)
			}
			a.user.hub.kick()
		case <-ctx.Done():
			return
		}
	}
}

// askAgain queues the question again after askPause. Until then, the counts stay as they are.
func (g *Gateway) askAgain(ctx context.Context, a ask) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return // the gateway stops
	}
	guard.AfterFunc(askPause, "asking once more", g.panicked("an exception is not asked for"), func() {
		h := a.user.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		if e := a.user.entries[a.channel]; e != nil && h.users[a.user.id] == a.user {
			g.ask(e)
		}
	})
}

func (g *Gateway) answerAsk(ctx context.Context, a ask) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h := a.user.hub
	var e *entry
	var after []string // the answer must include the newest record: a new owner may still be behind it
	gone := false
	h.mu.With(func() {
		if e = a.user.entries[a.channel]; e != nil && e.ch != nil {
			after = g.passed(nil, events.PartitionOf([]byte(a.channel), g.cfg.Partitions), e.ch.Reach())
		}
		if e != nil {
			gone, e.asking = len(a.user.conns) == 0, false // later changes may ask again
		}
	})
	if e == nil || gone {
		return
	}
	g.metrics.asked.Inc()
	g.plant("ask")
	res, err := g.query.GetUnread(g.as(ctx, a.user.id), &queryv1.GetUnreadRequest{UserId: a.user.id, ChannelId: a.channel, After: after})
	if err != nil {
		g.cfg.Logger.Debug("an owner could not be asked", "err", err)
		g.askAgain(ctx, a)
		return
	}
	stamp := g.stampAt(g.position(res.AsOf), a.channel)
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.ch == nil || stamp.M < e.floorM || !view.Covers(&stamp, &e.stamp) {
		return
	}
	e.answered = max(e.answered, stamp.M)
	v := view.OfAnswer(res)
	g.complete(e, &v, 0, true)
	e.learnFirsts(&v)
	if v.Same(&e.view) {
		return
	}
	a.user.change(e, func() {
		g.applyMembership(a.user, e, v.Channel, v.Member, stamp.M)
		e.view = v
	})
	g.frameUpdate(a.user, e, "")
}
