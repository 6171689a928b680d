package gateway

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/query/queryv1"
)

const (
	// maxThreads limits the threads of a user that an inbox lists.
	maxThreads = 10_000
	// inboxPage is the largest page of GetInbox.
	inboxPage = 1000
	// snapshotTries is how often reading an inbox may fail before the connection is closed with
	// CloseTryAgain.
	snapshotTries = 6
)

// inbox is a user's inbox from the owners' answers.
type inbox struct {
	channels  []view.View
	at        view.Position
	threads   []view.View
	threadsAt view.Position // position of the threads
}

// load reads the inbox of a connection and sends it, in a goroutine of its own.
//
// No change during the reading is lost. Deltas go into the user's entries, and values that the
// inbox does not cover are sent after it. The inbox includes everything that the feed had passed
// when the user came. If the feed has passed more, in a channel without members here, by the time
// that the channel is registered, the inbox is read once more, at least up to there.
func (g *Gateway) load(c *conn) {
	g.loads.Add(1)
	defer g.loads.Add(-1)
	pause := 20 * time.Millisecond
	var after []string
	for p := range g.seen {
		after = g.passed(after, int32(p), g.seen[p].Load())
	}
	for try := 1; ; try++ {
		in, err := g.readInbox(c, after)
		if err == nil {
			if after = g.install(c, in, try < 4); after == nil {
				return
			}
			continue
		}
		if c.Context().Err() != nil {
			return
		}
		if try >= snapshotTries {
			g.cfg.Logger.WarnContext(c.Context(), "no inbox could be read", "instance", c.Instance, "err", err)
			c.Shut(CloseTryAgain, "no inbox could be read: try again later")
			return
		}
		after = nil // an owner that lags must not keep users out
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-c.Context().Done():
			return
		}
		pause = min(2*pause, time.Second)
	}
}

// readInbox reads all pages. At most Limits.Snapshots inboxes are read at once.
func (g *Gateway) readInbox(c *conn, after []string) (*inbox, error) {
	select {
	case g.snapshots <- struct{}{}:
		defer func() { <-g.snapshots }()
	case <-c.Context().Done():
		return nil, context.Cause(c.Context())
	}
	defer g.metrics.timed(g.metrics.inboxes)()
	ctx, cancel := context.WithTimeout(g.as(c.Context(), c.user.id), 15*time.Second)
	defer cancel()
	in := &inbox{}
	for token := ""; ; {
		res, err := g.query.GetInbox(ctx, &queryv1.GetInboxRequest{UserId: c.user.id, Archived: "all", PageSize: inboxPage, PageToken: token, After: after})
		if err != nil {
			return nil, err
		}
		for _, ch := range res.Channels {
			in.channels = append(in.channels, view.OfAnswer(ch))
			g.passTimeOf(&in.channels[len(in.channels)-1])
		}
		// The first page is the oldest: later ones cover at least as much.
		if len(in.at) == 0 {
			in.at = g.position(res.AsOf)
		}
		if token = res.NextPageToken; token == "" {
			return in, g.readThreads(ctx, c, in)
		}
	}
}

// readThreads reads the threads, from states no older than the channels'.
func (g *Gateway) readThreads(ctx context.Context, c *conn, in *inbox) error {
	for token := ""; ; {
		res, err := g.query.GetThreads(ctx, &queryv1.GetThreadsRequest{UserId: c.user.id, PageSize: inboxPage, PageToken: token, After: g.tokens(in.at)})
		if err != nil {
			return err
		}
		for _, t := range res.Threads {
			in.threads = append(in.threads, view.OfThread(t))
			g.passTimeOf(&in.threads[len(in.threads)-1])
		}
		if len(in.threadsAt) == 0 {
			in.threadsAt = g.position(res.AsOf)
		}
		if token = res.NextPageToken; token == "" || len(in.threads) >= maxThreads {
			return nil
		}
	}
}
