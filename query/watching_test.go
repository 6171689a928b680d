package query

import (
	"context"
	"maps"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/watchtest"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/queryv1"
)

// watching is a client of WatchUnread that keeps the received values.
type watching struct {
	t        *testing.T
	messages chan *queryv1.WatchUnreadResponse
	err      chan error

	channels map[string]*queryv1.ChannelUnread
	threads  map[string]*queryv1.ThreadUnread // channel, NUL, thread
	totals   *queryv1.Totals
	labels   map[string]*queryv1.Totals
	seen     position.After
}

func (n *node) watch(t *testing.T, ctx context.Context, user string) *watching {
	t.Helper()
	w := &watching{t: t, messages: make(chan *queryv1.WatchUnreadResponse), err: make(chan error, 1), seen: position.After{}}
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	stream, err := n.query.WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: user}))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer stream.Close()
		for stream.Receive() {
			select {
			case w.messages <- stream.Msg():
			case <-ctx.Done():
				return
			}
		}
		w.err <- stream.Err()
	}()
	return w
}

// next takes one message that is not a heartbeat.
func (w *watching) next() *queryv1.WatchUnreadResponse {
	w.t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case m := <-w.messages:
			w.apply(m)
			if m.Event != nil {
				return m
			}
		case err := <-w.err:
			w.t.Fatalf("the stream ended: %v", err)
		case <-timeout:
			w.t.Fatal("nothing was sent for two minutes")
		}
	}
}

func (w *watching) apply(m *queryv1.WatchUnreadResponse) {
	testTopics.Merge(w.seen, m.AsOf)
	switch e := m.Event.(type) {
	case *queryv1.WatchUnreadResponse_Snapshot:
		w.channels, w.threads, w.labels = map[string]*queryv1.ChannelUnread{}, map[string]*queryv1.ThreadUnread{}, map[string]*queryv1.Totals{}
		for _, c := range e.Snapshot.Channels {
			w.channels[c.ChannelId] = c
		}
		for _, t := range e.Snapshot.Threads {
			w.threads[t.ChannelId+"\x00"+t.ThreadId] = t
		}
		w.totals = e.Snapshot.Totals
		maps.Copy(w.labels, e.Snapshot.TotalsByLabel)
	case *queryv1.WatchUnreadResponse_Update:
		if c := e.Update.Channel; c != nil {
			w.channels[c.ChannelId] = c
		}
		if t := e.Update.Thread; t != nil {
			w.threads[t.ChannelId+"\x00"+t.ThreadId] = t
		}
		w.totals = e.Update.Totals
		maps.Copy(w.labels, e.Update.TotalsByLabel)
	}
}

// until takes messages until the received values include token's record.
func (w *watching) until(token string) {
	w.t.Helper()
	id, err := events.ParseRecordID(token)
	if err != nil {
		w.t.Fatal(err)
	}
	in, _ := testTopics.Input(id.Topic)
	for {
		if seen, ok := w.seen[id.Partition]; ok && seen[in] >= id.Offset {
			return
		}
		w.next()
	}
}

// TestWatcherOfTestsKeepsTheContract: the watcher of these tests behaves like the processor's.
func TestWatcherOfTestsKeepsTheContract(t *testing.T) {
	watchtest.Check(t, func(t *testing.T) watchtest.Watched {
		c := newCluster(t, 1, 1)
		w, err := c.nodes[0].Watch(0, "u")
		if err != nil {
			t.Fatal(err)
		}
		change := func(channelID string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for w := range c.watchers {
				w.add(channelID)
			}
		}
		return watchtest.Watched{Watcher: w, Change: change, End: func() { c.move(0, testMoving) }}
	})
}
