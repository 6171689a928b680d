package partition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// onlyNode is a query.Node that owns one partition, the only one.
type onlyNode struct{ part *projections.Partition }

var errOneNode = errors.New("the bench has one node")

func (n onlyNode) Partitions() int32                                      { return 1 }
func (n onlyNode) Live(int32) (*projections.Partition, error)             { return n.part, nil }
func (n onlyNode) Wait(context.Context, int32, events.Input, int64) error { return nil }
func (n onlyNode) MayHold(int32, uint64) bool                             { return true }
func (n onlyNode) Owner(context.Context, int32) (string, error)           { return "", errOneNode }
func (n onlyNode) RelayKey(string) string                                 { return "" }
func (n onlyNode) Watch(int32, string) (watch.Watcher, error)             { return nil, errOneNode }
func (n onlyNode) Arrivals(string) watch.Arrivals                         { return nil }

// served is a partition behind the query service of a node, on a port of its own.
type served struct {
	*coldPart
	http   *http.Server
	client queryv1connect.QueryServiceClient
	idle   func() // closes the client's connections
}

func (p *coldPart) serve(ctx context.Context) (*served, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	url := "http://" + l.Addr().String()
	s := &served{coldPart: p, http: edge.NewServer(query.Handler(query.Config{
		Node: onlyNode{p.d.p}, Self: url, Logger: slog.New(slog.DiscardHandler),
	}))}
	go func() { _ = s.http.Serve(l) }() // ends with stop
	client := &http.Client{Transport: &http.Transport{}}
	s.client, s.idle = queryv1connect.NewQueryServiceClient(client, url), client.CloseIdleConnections
	return s, nil
}

// stop ends the server, but not the partition. No call may be under way.
func (s *served) stop() error {
	s.idle()
	return s.http.Close()
}

// byHTTP returns the queries as a client of the node asks them: one cold channel, and the inbox of a
// heavy user.
func (s *served) byHTTP(ctx context.Context, mix traffic.Mix) []coldQuery {
	return []coldQuery{
		{"GetUnread of a cold channel by HTTP", 3, func(r *rand.Rand) (time.Duration, error) {
			c := r.IntN(mix.Channels)
			id, user := traffic.ChannelID(c), traffic.UserID(mix.Member(c, 0))
			s.d.p.RLock()
			cold := s.d.p.IsCold(id)
			s.d.p.RUnlock()
			if !cold {
				return 0, nil
			}
			t0 := time.Now()
			_, err := s.client.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: user, ChannelId: id}))
			return time.Since(t0), err
		}},
		{fmt.Sprintf("GetInbox of a user with %d cold channels by HTTP", manyCold), 10, func(r *rand.Rand) (time.Duration, error) {
			user := s.heavy(mix, r)
			if user == "" {
				return 0, nil
			}
			t0 := time.Now()
			got, err := s.client.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: user}))
			took := time.Since(t0)
			if err == nil && (len(got.Msg.Channels) < manyCold || got.Msg.Totals.GetUnread() == 0) {
				err = fmt.Errorf("%s has %d channels with %d unread messages, not at least %d channels", user, len(got.Msg.Channels), got.Msg.Totals.GetUnread(), manyCold)
			}
			return took, err
		}},
	}
}
