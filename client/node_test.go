//go:build node

// These need a node with everything in one process: internal/test/clientmodule starts it.
package client_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/client"
	"github.com/tidemark/tidemark/client/cached"
)

func environment(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run `go test ./internal/test/clientmodule` in the folder above, which starts a node", name)
	}
	return value
}

func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func node(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{URL: environment(t, "TIDEMARK_TEST_NODE"), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// story writes a channel with three messages, of which a user has read one.
func story(t *testing.T, c *client.Client, channel, user, sender string) (after []string) {
	t.Helper()
	list := []client.Event{{ChannelID: channel, Kind: client.MembersJoined{UserIDs: []string{user, sender}}}}
	for _, id := range []string{"m1", "m2", "m3"} {
		m := client.MessagePosted{MessageID: channel + "-" + id, SenderID: sender}
		if id == "m3" {
			m.Mentions = []string{user}
		}
		list = append(list, client.Event{ChannelID: channel, Kind: m})
	}
	list = append(list, client.Event{ChannelID: channel, UserID: user, Kind: client.ReadUpTo{MessageID: channel + "-m1"}})
	after, err := c.Publish(patience(t), list...)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func TestCalls(t *testing.T) {
	c, ctx := node(t), patience(t)
	after := story(t, c, "go", "go-ann", "go-bob")
	check := func(what string, err error, ok bool) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	u, err := c.Unread(ctx, "go-ann", "go", after...)
	check("unread", err, u != nil && u.Unread == 2 && u.Mentions == 1 && u.FirstUnread.MessageID == "go-m2" && u.Level == client.All && len(u.AsOf) >= 2) // messages, reads, and deliveries once there are any
	i, err := c.Inbox(ctx, "go-ann", client.Inboxes{UnreadOnly: true, Page: client.Page{After: after}})
	check("inbox", err, i != nil && len(i.Channels) == 1 && i.Totals.Badge == 2)
	e, err := c.Explain(ctx, "go-ann", "go", "", after...)
	check("explain", err, e != nil && slices.Equal(e.MessageIDs, []string{"go-m2", "go-m3"}) && e.Pointer.MessageID == "go-m1")
	h, err := c.Channel(ctx, "go", after...)
	check("channel", err, h != nil && h.HeadSeq == 3 && h.MemberCount == 2)
	r, err := c.Receipts(ctx, "go", "go-m1", client.Page{After: after})
	check("receipts", err, r != nil && r.ReadCount == 1 && r.Recipients[0].UserID == "go-ann" && !r.Recipients[0].ReadAt.IsZero())
	d, err := c.Readers(ctx, "go", client.Page{After: after})
	check("readers", err, d != nil && len(d.Readers) == 2)
	l, err := c.UserChannels(ctx, "go-ann", client.Page{After: after})
	check("channels of a user", err, l != nil && len(l.Channels) == 1 && l.Channels[0].Member)

	after, err = c.Post(ctx, "go", client.MessagePosted{MessageID: "go-r1", SenderID: "go-bob", ThreadID: "go-m3"})
	check("post", err, len(after) == 1)
	after2, err := c.Publish(ctx, client.Event{ChannelID: "go", UserID: "go-ann", Kind: client.ThreadFollowed{ThreadID: "go-m3"}})
	check("follow", err, len(after2) == 1)
	threads, err := c.Threads(ctx, "go-ann", false, client.Page{After: append(after, after2...)})
	check("threads", err, threads != nil && len(threads.Threads) == 1)

	after, err = c.MarkAllRead(ctx, "go-ann", client.MarkAll{Threads: true, After: after})
	check("mark all read", err, len(after) > 0)
	u, err = c.Unread(ctx, "go-ann", "go", after...)
	check("unread after all was read", err, u != nil && u.Unread == 0)
	after, err = c.MarkUnread(ctx, "go-ann", "go", client.MarkedUnread{MessageID: "go-m3"})
	check("mark unread", err, len(after) == 1)
	u, err = c.Unread(ctx, "go-ann", "go", after...)
	check("unread after the mark", err, u != nil && u.Unread == 1)
	after, err = c.Leave(ctx, "go", "go-ann")
	check("leave", err, len(after) == 1)
	u, err = c.Unread(ctx, "go-ann", "go", after...)
	check("unread of somebody who left", err, u != nil && !u.Member)
}

func TestErrorsOfANode(t *testing.T) {
	c, ctx := node(t), patience(t)
	_, err := c.Channel(ctx, "no-such-channel")
	var e *client.Error
	if !errors.As(err, &e) || e.Code != client.NotFound || e.RequestID == "" {
		t.Errorf("%#v", err)
	}
	if _, err := c.Unread(ctx, "ann", "general", "nonsense"); client.CodeOf(err) != client.InvalidArgument {
		t.Errorf("%v", err)
	}
	if _, err := c.Post(ctx, "c", client.MessagePosted{MessageID: "m1"}); client.CodeOf(err) != client.InvalidArgument {
		t.Errorf("a message without a sender: %v", err)
	}
}

func TestWatch(t *testing.T) {
	c, ctx := node(t), patience(t)
	after := story(t, c, "go-watched", "gw-ann", "gw-bob")
	for e, err := range c.Watch(ctx, "gw-ann", after...) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Snapshot != nil {
			if e.Snapshot.Totals.Unread != 2 {
				t.Errorf("snapshot: %+v", e.Snapshot.Totals)
			}
			if _, err := c.Post(ctx, "go-watched", client.MessagePosted{MessageID: "gw-m4", SenderID: "gw-bob"}); err != nil {
				t.Fatal(err)
			}
		} else if e.Update.Totals.Unread == 3 {
			if e.Update.Channel.Latest.MessageID != "gw-m4" {
				t.Errorf("update: %+v", e.Update.Channel)
			}
			break
		}
	}
	for _, err := range c.Watch(ctx, "gw-ann", "nonsense") {
		if client.CodeOf(err) != client.InvalidArgument {
			t.Errorf("%v", err)
		}
	}
}

func TestDeviceOfANode(t *testing.T) {
	c, ctx := node(t), patience(t)
	story(t, c, "go-device", "gd-ann", "gd-bob")
	d, err := client.Connect(client.DeviceConfig{URL: environment(t, "TIDEMARK_TEST_NODE"), User: "gd-ann", CommandTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	until := func(badge int) {
		t.Helper()
		for i := range d.Inboxes(ctx) {
			if n, _ := i.Badge(); n == badge {
				return
			}
		}
		t.Fatalf("the badge never is %d", badge)
	}
	until(2)
	after, err := d.MarkRead(ctx, "go-device", client.ReadUpTo{MessageID: "go-device-m3"})
	if err != nil {
		t.Fatal(err)
	}
	if u, err := c.Unread(ctx, "gd-ann", "go-device", after...); err != nil || u.Unread != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	until(0)
	if _, err = d.MarkUnread(ctx, "go-device", client.MarkedUnread{MessageID: "go-device-m2"}); err != nil {
		t.Error(err)
	}
	until(2)
	if _, err = d.Notify(ctx, "go-device", client.NotifySet{Level: client.Mentions}); err != nil {
		t.Error(err)
	}
	until(1)
	if _, err = d.SetLabels(ctx, "go-device", "work"); err != nil {
		t.Error(err)
	}
	readers, err := d.ReadState(ctx, "go-device")
	if err != nil || len(readers) != 2 {
		t.Errorf("%v, %v", readers, err)
	}
	if _, err = d.MarkRead(ctx, "no-such-channel", client.ReadUpTo{MessageID: "m1"}); client.CodeOf(err) != client.NotFound {
		t.Errorf("%v", err)
	}
}

func TestCached(t *testing.T) {
	c, ctx := node(t), patience(t)
	story(t, c, "go-cached", "go:cache", "gc-bob")
	options, err := redis.ParseURL(environment(t, "TIDEMARK_TEST_REDIS"))
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	defer func() { _ = rdb.Close() }()
	reader := cached.NewReader(rdb)
	for {
		v, err := reader.View(ctx, "go:cache")
		if err == nil && v.Totals.Badge == 2 {
			if v.Channels[0].ChannelID != "go-cached" || !v.Channels[0].Known || v.Totals.Mentions != 1 {
				t.Errorf("%+v", v)
			}
			break
		}
		if err != nil && !errors.Is(err, cached.ErrMiss) || ctx.Err() != nil {
			t.Fatalf("%+v, %v", v, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := reader.View(ctx, "go:nobody"); !errors.Is(err, cached.ErrMiss) {
		t.Errorf("%v", err)
	}
}
