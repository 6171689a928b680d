// Package client reads Tidemark from a Go service: unread counts and inboxes from the query
// service, again where a partition is moving, and never older than what was read or written before.
//
// With a Redis in its Config it also reads what the cache role left there, without a node; that
// alone is package cache's Reader.
package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Config says whom to ask. URL must be set.
type Config struct {
	URL   string       // of any node with the role query
	Token string       // sent as a bearer token; empty: none
	HTTP  *http.Client // nil: http.DefaultClient
	// Redis is one that a cache fills, or a replica of it; nil: Cached cannot be asked.
	Redis redis.UniversalClient
	// Tries bounds how often a call is made that the node answers with unavailable; 5. Between two
	// there are 50 ms and more, doubling, spread over the upper half.
	Tries int
}

// Client asks one address. Any number of goroutines may use it.
type Client struct {
	query  queryv1connect.QueryServiceClient
	ingest ingestv1connect.IngestServiceClient
	cfg    Config
}

// New makes a client. It connects when it is asked something.
func New(c Config) (*Client, error) {
	if c.URL == "" {
		return nil, errors.New("client: no URL of a node is given, such as http://127.0.0.1:8080")
	}
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	if c.Tries <= 0 {
		c.Tries = 5
	}
	return &Client{
		query: queryv1connect.NewQueryServiceClient(c.HTTP, c.URL), ingest: ingestv1connect.NewIngestServiceClient(c.HTTP, c.URL), cfg: c,
	}, nil
}

// Unread is what a user sees of a channel. after are tokens of records to be included: those that
// Publish returned, or the AsOf of an earlier answer (DESIGN §9).
func (c *Client) Unread(ctx context.Context, user, channel string, after ...string) (*queryv1.ChannelUnread, error) {
	return call(ctx, c, c.query.GetUnread, &queryv1.GetUnreadRequest{UserId: user, ChannelId: channel, After: events.LatestTokens(after)})
}

// Inbox is a page of a user's channels, with totals over all of them.
func (c *Client) Inbox(ctx context.Context, r *queryv1.GetInboxRequest) (*queryv1.GetInboxResponse, error) {
	return call(ctx, c, c.query.GetInbox, r)
}

// Threads is a page of the threads that a user follows, unread first, then by newest reply.
func (c *Client) Threads(ctx context.Context, r *queryv1.GetThreadsRequest) (*queryv1.GetThreadsResponse, error) {
	return call(ctx, c, c.query.GetThreads, r)
}

// Receipts says who received and who read a message, and how many.
func (c *Client) Receipts(ctx context.Context, r *queryv1.GetReceiptsRequest) (*queryv1.GetReceiptsResponse, error) {
	return call(ctx, c, c.query.GetReceipts, r)
}

// Readers is how far each member of a channel has read, a page of them.
func (c *Client) Readers(ctx context.Context, r *queryv1.GetReadersRequest) (*queryv1.GetReadersResponse, error) {
	return call(ctx, c, c.query.GetReaders, r)
}

// Channel is what is known of a channel whoever asks: its latest message, how many there were, how
// many members it has.
func (c *Client) Channel(ctx context.Context, channel string, after ...string) (*queryv1.GetChannelResponse, error) {
	return call(ctx, c, c.query.GetChannel, &queryv1.GetChannelRequest{ChannelId: channel, After: events.LatestTokens(after)})
}

// Cached is what Redis holds of a user: channels, threads and what they come to, in two round trips
// and without a node. It may be older than what was written before. cache.ErrMiss: Redis cannot
// say, so ask Inbox and Threads; a miss is never zero, and an entry that is not Known (DESIGN §7)
// neither.
func (c *Client) Cached(ctx context.Context, user string) (*cache.View, error) {
	if c.cfg.Redis == nil {
		return nil, errors.New("client: no Redis is given, so there is nothing cached to read")
	}
	return cache.NewReader(c.cfg.Redis).View(ctx, user)
}

// Explain says which messages are behind a number.
func (c *Client) Explain(ctx context.Context, r *queryv1.ExplainUnreadRequest) (*queryv1.ExplainUnreadResponse, error) {
	return call(ctx, c, c.query.ExplainUnread, r)
}

// Publish writes events and returns the tokens to pass as after, the last of each partition. It is
// tried once: a mark that was written although the answer was lost would be made twice.
func (c *Client) Publish(ctx context.Context, list ...*ingestv1.Event) (after []string, err error) {
	res, err := c.ingest.Publish(ctx, request(c, &ingestv1.PublishRequest{Events: list}))
	if err != nil {
		return nil, err
	}
	return events.LatestTokens(res.Msg.After), nil
}

// MarkAll says what MarkAllRead reads. The zero MarkAll is all channels, without their threads.
type MarkAll struct {
	Label   string // only channels that have it, the channel's own or the user's; empty: all
	Threads bool   // their threads too
	// InstanceID is the origin that the deltas of these reads echo; empty: none.
	InstanceID string
	After      []string // tokens of records to be included when the channels are looked up
}

// MarkAllRead reads what a user has unread, muted and archived channels too, and returns the tokens
// to pass as after. It is tried once, as Publish is.
func (c *Client) MarkAllRead(ctx context.Context, user string, what MarkAll) (after []string, err error) {
	res, err := c.ingest.MarkAllRead(ctx, request(c, &ingestv1.MarkAllReadRequest{
		UserId: user, InstanceId: what.InstanceID, Threads: what.Threads, Label: what.Label, After: events.LatestTokens(what.After),
	}))
	if err != nil {
		return nil, err
	}
	return events.LatestTokens(res.Msg.After), nil
}

func request[T any](c *Client, m *T) *connect.Request[T] {
	r := connect.NewRequest(m)
	if c.cfg.Token != "" {
		r.Header().Set("Authorization", "Bearer "+c.cfg.Token)
	}
	return r
}

// call asks, and asks again while the answer is unavailable and ctx lasts.
func call[Q, A any](ctx context.Context, c *Client, do func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), m *Q) (*A, error) {
	wait := 50 * time.Millisecond
	for try := 1; ; try++ {
		res, err := do(ctx, request(c, m))
		if err == nil {
			return res.Msg, nil
		}
		if connect.CodeOf(err) != connect.CodeUnavailable || try >= c.cfg.Tries {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait/2 + rand.N(wait/2)): //nolint:gosec // it spreads callers, and is no secret
		}
		wait *= 2
	}
}
