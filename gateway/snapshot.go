package gateway

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/queryv1"
)

const (
	// ofInbox is the fold version of a stamp that is a position: everything up to there is in the value, whichever
	// version folded it.
	ofInbox = math.MaxUint32
	// maxThreads bounds the threads of a user that are kept here.
	maxThreads = 10_000
	// inboxPage is the largest page of GetInbox.
	inboxPage = 1000
	// snapshotTries is how often an inbox is read before the connection is told to try again later.
	snapshotTries = 6
)

// inbox is a user's inbox as it was read.
type inbox struct {
	channels []view
	at       position
	threads  []view
	heard    position // of the threads
}

// load reads the inbox of a connection and sends it. It runs beside the connection.
//
// What changes while it is being read is not lost: deltas go into the user's entries, and those that the inbox does not
// cover follow it. The inbox includes what the feed had passed when the user came: nobody kept that for him. A channel in
// which nobody here was interested may have had records since then: if the feed has gone past the inbox by the time the
// channel is registered, the inbox is read once more, at least up to there.
func (g *Gateway) load(c *conn) {
	pause := 20 * time.Millisecond
	g.hub.mu.Lock()
	var after []string
	for p, seen := range g.seen {
		after = g.passed(after, p, seen)
	}
	g.hub.mu.Unlock()
	for try := 1; ; try++ {
		in, err := g.readInbox(c, after)
		if err == nil {
			if after = g.install(c, in, try < 4); after == nil {
				return
			}
			continue
		}
		if c.ctx.Err() != nil {
			return
		}
		if try >= snapshotTries {
			g.cfg.Logger.Warn("no inbox could be read", "instance", c.instance, "err", err)
			c.shut(CloseTryAgain, "no inbox could be read: try again later")
			return
		}
		after = nil // an owner that lags must not keep people out
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-c.ctx.Done():
			return
		}
		pause = min(2*pause, time.Second)
	}
}

// readInbox reads all pages. At most Limits.Snapshots do so at once.
func (g *Gateway) readInbox(c *conn, after []string) (*inbox, error) {
	select {
	case g.snapshots <- struct{}{}:
		defer func() { <-g.snapshots }()
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
	defer g.metrics.timed(g.metrics.inboxes)()
	ctx, cancel := context.WithTimeout(c.ctx, 15*time.Second)
	defer cancel()
	in := &inbox{at: position{}}
	for token := ""; ; {
		req := connect.NewRequest(&queryv1.GetInboxRequest{UserId: c.user.id, PageSize: inboxPage, PageToken: token, After: after})
		g.authorize(req.Header(), c.token)
		res, err := g.query.GetInbox(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, ch := range res.Msg.Channels {
			in.channels = append(in.channels, viewOfAnswer(ch))
		}
		// The first page is the oldest: what it covers, later ones do.
		if len(in.at) == 0 {
			in.at.add(&g.cfg.Topics, res.Msg.AsOf)
		}
		if token = res.Msg.NextPageToken; token == "" {
			return in, g.readThreads(ctx, c, in)
		}
	}
}

// readThreads reads the threads, which are no older than the channels.
func (g *Gateway) readThreads(ctx context.Context, c *conn, in *inbox) error {
	in.heard = position{}
	for token := ""; ; {
		req := connect.NewRequest(&queryv1.GetThreadsRequest{UserId: c.user.id, PageSize: inboxPage, PageToken: token, After: g.tokens(in.at)})
		g.authorize(req.Header(), c.token)
		res, err := g.query.GetThreads(ctx, req)
		if err != nil {
			return err
		}
		for _, t := range res.Msg.Threads {
			in.threads = append(in.threads, viewOfThread(t))
		}
		if len(in.heard) == 0 {
			in.heard.add(&g.cfg.Topics, res.Msg.AsOf)
		}
		if token = res.Msg.NextPageToken; token == "" || len(in.threads) >= maxThreads {
			return nil
		}
	}
}

// tokens say how far a position is, for an after.
func (g *Gateway) tokens(at position) (after []string) {
	for p, s := range at {
		after = g.passed(after, p, s.M)
	}
	return after
}

// passed adds the last event of chat.messages before an offset.
func (g *Gateway) passed(after []string, p int32, next int64) []string {
	if next == 0 {
		return after
	}
	return append(after, g.cfg.Topics.Messages+"/"+strconv.Itoa(int(p))+"/"+strconv.FormatInt(next-1, 10))
}

// startLoad reads the inbox of a connection beside everything else. Called with the lock.
func (g *Gateway) startLoad(c *conn) {
	c.loading = true
	go func() {
		g.load(c)
		g.hub.kick()
	}()
}

// reload sends all devices of a user a fresh inbox. Called with the lock.
func (g *Gateway) reload(u *user) {
	for _, c := range u.conns {
		g.reloadConn(c)
	}
}

// reloadConn sends one device a fresh inbox. Called with the lock.
func (g *Gateway) reloadConn(c *conn) {
	if c.loading {
		c.reloads++
		return
	}
	g.startLoad(c)
}
