package query

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/queryv1"
)

func TestWatchLimits(t *testing.T) {
	c := newCluster(t, 1, 1, func(cfg *Config) { cfg.MaxWatches, cfg.MaxWatchesPerUser = 3, 2 })
	ctx, cancel := context.WithCancel(t.Context())
	refused := func(user, text string) {
		t.Helper()
		stream, err := c.nodes[0].query.WatchUnread(t.Context(), connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: user}))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		stream.Receive()
		if err := stream.Err(); connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want resource_exhausted … %s", err, text)
		}
	}
	c.nodes[0].watch(t, ctx, "ann").next()
	c.nodes[0].watch(t, ctx, "ann").next()
	refused("ann", "user_id has 2 watches open on this node, which is the limit for one user")
	c.nodes[0].watch(t, t.Context(), "bob").next()
	refused("cyd", "this node has 3 watches open, which is its limit")

	cancel() // a stream that ends frees its slots and its watchers
	deadline := time.Now().Add(2 * time.Minute)
	for {
		c.mu.Lock()
		open := len(c.arrivals)
		c.mu.Unlock()
		if open == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d watchers are open, want 1", open)
		}
		time.Sleep(time.Millisecond)
	}
	c.nodes[0].watch(t, t.Context(), "ann").next()
}

// A stream that another node opens for one of its callers does not count against the limits here,
// because it counts there. A caller that only claims to be a node is refused
// (TestForwardingHeadersOfStrangers).
func TestWatchLimitsBetweenNodes(t *testing.T) {
	c := newCluster(t, 2, 2, func(cfg *Config) { cfg.MaxWatches, cfg.MaxWatchesPerUser = 3, 2 })
	for _, n := range c.nodes { // ann has two on each node, and the other node follows each as well
		n.watch(t, t.Context(), "ann").next()
		n.watch(t, t.Context(), "ann").next()
	}
	relayed := c.as(c.nodes[1], c.nodes[0])
	req := connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"})
	req.Header().Set(headerPartitions, "0")
	stream, err := relayed.WatchUnread(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if !stream.Receive() {
		t.Errorf("a node: %v", stream.Err())
	}
}

func TestSnapshotIsBounded(t *testing.T) {
	c := newCluster(t, 2, 2)
	const channels = maxSnapshot + 200
	for i := range channels {
		ch := fmt.Sprintf("c%d", i)
		c.join(ch, "ann")
		if i%2 == 0 {
			c.post(ch, "m", "bob")
		}
	}
	snap := c.nodes[0].watch(t, t.Context(), "ann").next().GetSnapshot()
	if len(snap.Channels) != maxSnapshot || snap.Totals.Unread != channels/2 {
		t.Fatalf("%d channels, totals %v", len(snap.Channels), snap.Totals)
	}
	rest := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", PageSize: 1000, PageToken: snap.NextPageToken})
	if len(rest.Channels) != channels-maxSnapshot || rest.NextPageToken != "" {
		t.Errorf("the next page has %d channels", len(rest.Channels))
	}
	all := &queryv1.GetInboxRequest{UserId: "ann", PageSize: 1000, PageToken: snap.NextPageToken, Archived: "all"}
	if rest := c.nodes[1].inbox(t, all); len(rest.Channels) != channels-maxSnapshot {
		t.Errorf("the next page of all has %d channels", len(rest.Channels))
	}
	all.Archived = "only"
	if _, err := c.nodes[1].query.GetInbox(t.Context(), connect.NewRequest(all)); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("the next page of the archived ones: %v", err)
	}
}
