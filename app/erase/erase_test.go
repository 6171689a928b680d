package erase_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/erase"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// node answers the queries of an erasure. Until a query has after, the user is a member of general.
type node struct {
	queryv1connect.UnimplementedQueryServiceHandler
	mu    sync.Mutex
	asked int
	late  int  // how many answers say that the events are not folded yet
	back  bool // the user has joined again
}

func (n *node) ListUserChannels(_ context.Context, r *connect.Request[queryv1.ListUserChannelsRequest]) (*connect.Response[queryv1.ListUserChannelsResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &queryv1.UserChannel{ChannelId: "general", Member: true}
	if n.asked++; len(r.Msg.After) > 0 {
		if n.late--; n.late >= 0 {
			return nil, connect.NewError(connect.CodeUnavailable, errors.New("not folded yet"))
		}
		c.Member, c.Erased = n.back, true
	}
	return connect.NewResponse(&queryv1.ListUserChannelsResponse{Channels: []*queryv1.UserChannel{c}}), nil
}

func (n *node) GetThreads(context.Context, *connect.Request[queryv1.GetThreadsRequest]) (*connect.Response[queryv1.GetThreadsResponse], error) {
	return connect.NewResponse(&queryv1.GetThreadsResponse{Threads: []*queryv1.ThreadUnread{{ChannelId: "general", ThreadId: "m1"}}}), nil
}

// setup returns an erasure of ann at a node without a cache role.
func setup(t *testing.T, n *node) (erase.Config, *redis.Client) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(queryv1connect.NewQueryServiceHandler(n))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	brokers := testkit.FakeKafka(t).ListenAddrs()
	topics := testkit.Topics(t, brokers, 1, 1)
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	rdb := redis.NewClient(&redis.Options{Addr: testkit.Miniredis(t).Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	c := erase.Config{User: "ann", Query: queryv1connect.NewQueryServiceClient(http.DefaultClient, srv.URL), Kafka: cl, Redis: rdb,
		Patience: 300 * time.Millisecond,
		Topics:   processor.Topics{Unread: topics.Name(events.TopicUnread), Channels: topics.Name(events.TopicChannels), Receipts: topics.Name(events.TopicReceipts), DeadLetters: topics.Name(events.TopicDeadLetters)}}
	for i, name := range events.InputTopics {
		c.Topics.Inputs[i] = topics.Name(name)
	}
	return c, rdb
}

// Without a cache role the erasure itself removes the user's keys from Redis, and no other key.
func TestNoCacheFollows(t *testing.T) {
	c, rdb := setup(t, &node{late: 1})
	c.Patience = 2 * time.Second
	ctx := t.Context()
	for _, user := range []string{"ann", "bob", "ann:x"} {
		rdb.HSet(ctx, cache.InboxKey(user), "general", "{}", "elsewhere", "{}")
		rdb.HSet(ctx, cache.InboxThreadsKey(user), "general\x00m1", "{}", "general\x00old", "{}")
		for _, key := range []string{cache.ReadPointerKey(user, "general"), cache.ThreadReadKey(user, "m1"), cache.ThreadReadKey(user, "old")} {
			rdb.HSet(ctx, key, "last_read_id", "m")
		}
		rdb.Set(ctx, cache.PresenceKey(user), "1", 0)
	}
	res, err := erase.Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	// The fields and pointers of one channel and two threads, then the rest of the inbox, and ws.
	if res.Redis.Waited || res.Redis.Removed != 8 {
		t.Errorf("Redis: %+v, want 8 removed", res.Redis)
	}
	for _, k := range rdb.Keys(ctx, "*").Val() {
		if strings.HasSuffix(k, ":ann") || strings.Contains(k, ":ann:") {
			t.Errorf("%s is left", k)
		}
	}
	if n := len(rdb.Keys(ctx, "*").Val()); n != 12 {
		t.Errorf("%d keys are left, want the 12 of others", n)
	}
}

// A user who continues to write is not erased, and the error says so.
func TestUserWhoComesBackMeanwhile(t *testing.T) {
	c, _ := setup(t, &node{back: true})
	res, err := erase.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), `"general"`) || !strings.Contains(err.Error(), "run this again") {
		t.Errorf("%v", err)
	}
	if res == nil || len(res.After) != 2 {
		t.Errorf("%+v, want the tokens of what was written", res)
	}
}

// It is an error if the fold does not catch up, and a dry run writes nothing.
func TestFoldThatDoesNotFollow(t *testing.T) {
	n := &node{late: 1 << 30}
	c, _ := setup(t, n)
	c.DryRun = true
	res, err := erase.Run(t.Context(), c)
	if err != nil || len(res.After) != 0 || res.Left != 1 || res.Redis != nil {
		t.Errorf("dry run: %+v, %v", res, err)
	}
	c.DryRun = false
	if _, err := erase.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "not answered within 300ms") {
		t.Errorf("%v", err)
	}
}
