package query

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// callJSON makes a call as a caller with plain HTTP does.
func (n *node) callJSON(t testing.TB, method, body string) (status int, answer string) {
	t.Helper()
	res, err := http.Post(n.srv.URL+"/tidemark.query.v1.QueryService/"+method, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func (n *node) unread(t testing.TB, user, channel string, after ...string) *queryv1.ChannelUnread {
	t.Helper()
	res, err := n.query.GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{
		UserId: user, ChannelId: channel, After: after, EvaluatedAt: timestamppb.New(noon),
	}))
	if err != nil {
		t.Fatalf("GetUnread(%s, %s): %v", user, channel, err)
	}
	return res.Msg
}

// general makes a channel with every kind of number in it.
func general(c *cluster) {
	c.join("general", "ann", "bob")
	c.post("general", "m1", "bob")
	c.post("general", "m2", "bob", "ann")
	c.post("general", "m3", "ann")
	c.readUpTo("general", "ann", 3)
	c.message("general", events.Message{Kind: events.KindMessagePosted, MessageID: []byte("m4"), SenderID: []byte("bob"), Silent: true})
	c.post("general", "m5", "bob", "ann")
	c.post("general", "m6", "bob")
	c.post("general", "m7", "bob")
	c.message("general", events.Message{Kind: events.KindMessageDeleted, MessageID: []byte("m7")})
	c.read(events.Read{Kind: events.KindMarkedUnread, MessageID: []byte("m2"), HeadSeq: 7}, "general", "ann")
}

func TestAnswersInJSON(t *testing.T) {
	c := newCluster(t, 1, 1)
	general(c)
	for _, g := range []struct{ method, body, want string }{
		{"GetUnread", `{"user_id":"ann","channel_id":"general","evaluated_at":"2026-01-02T00:00:00Z"}`,
			`{"channel_id":"general","member":true,"unread":3,"mentions":2,"offline_unread":0,` +
				`"first_unread":{"message_id":"m2","seq":2},` +
				`"last_read":{"message_id":"m1","seq":1,"at":"2026-01-02T03:04:16Z"},` +
				`"latest":{"message_id":"m6","seq":6,"at":"2026-01-02T03:04:13Z","sender_id":"bob","preview":"hi m6"},` +
				`"muted":false,"read_epoch":2,` +
				`"direct_mentions":2,"first_mention":{"message_id":"m2","seq":2},"level":"ALL","level_after":"ALL","ignore_mention_all":false,"flagged":false,"archived":false,"labels":[],"own_labels":[],` +
				`"as_of":["chat.messages/0/8","chat.reads/0/1"],"evaluated_at":"2026-01-02T00:00:00Z"}`},
		{"GetUnread", `{"userId":"stranger","channelId":"general","evaluatedAt":"2026-01-02T00:00:00Z"}`,
			`{"channel_id":"general","member":false,"unread":5,"mentions":0,"offline_unread":0,` +
				`"first_unread":{"message_id":"m1","seq":1},` +
				`"latest":{"message_id":"m6","seq":6,"at":"2026-01-02T03:04:13Z","sender_id":"bob","preview":"hi m6"},` +
				`"muted":false,"read_epoch":1,` +
				`"direct_mentions":0,"level":"ALL","level_after":"ALL","ignore_mention_all":false,"flagged":false,"archived":false,"labels":[],"own_labels":[],` +
				`"as_of":["chat.messages/0/8","chat.reads/0/1"],"evaluated_at":"2026-01-02T00:00:00Z"}`},
		{"ExplainUnread", `{"user_id":"ann","channel_id":"general"}`,
			`{"unread":3,"message_ids":["m2","m5","m6"],"more":false,` +
				`"excluded":{"own":1,"deleted":1,"silent":1,"thread":0,"read_singly":0,"before_join":0,"hidden":0},` +
				`"pointer":{"message_id":"m1","seq":1,"at":"2026-01-02T03:04:16Z","event":"chat.reads/0/1"},"unnamed":0,` +
				`"as_of":["chat.messages/0/8","chat.reads/0/1"]}`},
		{"GetChannel", `{"channel_id":"general"}`,
			`{"channel_id":"general",` +
				`"latest":{"message_id":"m6","seq":6,"at":"2026-01-02T03:04:13Z","sender_id":"bob","preview":"hi m6"},` +
				`"head_seq":7,"head_pos":6,"member_count":2,"large":false,"labels":[],"archived":false,"as_of":["chat.messages/0/8","chat.reads/0/1"]}`},
		{"GetReaders", `{"channel_id":"general"}`,
			`{"readers":[{"user_id":"ann","message_id":"m3","seq":3,"at":"2026-01-02T03:04:09Z"},` +
				`{"user_id":"bob","message_id":"m7","seq":7,"at":"2026-01-02T03:04:14Z"}],"next_page_token":"",` +
				`"as_of":["chat.messages/0/8","chat.reads/0/1"]}`},
		{"GetReceipts", `{"channel_id":"general","message_id":"m2"}`,
			`{"channel_id":"general","message_id":"m2","seq":2,"status":"read","recipient_count":1,"delivered_count":1,"read_count":1,` +
				`"recipients":[{"user_id":"ann","status":"read","delivered_at":"2026-01-02T03:04:09Z","read_at":"2026-01-02T03:04:09Z"}],` +
				`"next_page_token":"","viewed_count":0,"as_of":["chat.messages/0/8","chat.reads/0/1"]}`},
		{"GetReceipts", `{"channel_id":"general","message_id":"m6"}`,
			`{"channel_id":"general","message_id":"m6","seq":6,"status":"sent","recipient_count":1,"delivered_count":0,"read_count":0,` +
				`"recipients":[{"user_id":"ann","status":"sent"}],"next_page_token":"","viewed_count":0,"as_of":["chat.messages/0/8","chat.reads/0/1"]}`},
		{"ListUserChannels", `{"of_user_id":"ann"}`,
			`{"channels":[{"channel_id":"general","member":true,"erased":false}],"next_page_token":"",` +
				`"as_of":["chat.messages/0/8","chat.reads/0/1"]}`},
		{"GetInbox", `{"user_id":"bob","evaluated_at":"2026-01-02T00:00:00Z"}`,
			`{"channels":[{"channel_id":"general","member":true,"unread":0,"mentions":0,"offline_unread":0,` +
				`"last_read":{"message_id":"m7","seq":7,"at":"2026-01-02T03:04:14Z"},` +
				`"latest":{"message_id":"m6","seq":6,"at":"2026-01-02T03:04:13Z","sender_id":"bob","preview":"hi m6"},` +
				`"muted":false,"read_epoch":1,` +
				`"direct_mentions":0,"level":"ALL","level_after":"ALL","ignore_mention_all":false,"flagged":false,"archived":false,"labels":[],"own_labels":[],` +
				`"as_of":[]}],` +
				`"totals":{"unread":0,"mentions":0,"unread_channels":0,"thread_unread":0,"thread_mentions":0,` +
				`"badge":0,"unread_threads":0,"flagged":0,` +
				`"archived":{"unread_channels":0,"mentions":0}},` +
				`"next_page_token":"","totals_by_label":{},"as_of":["chat.messages/0/8","chat.reads/0/1"],"evaluated_at":"2026-01-02T00:00:00Z"}`},
		{"GetInbox", `{"user_id":"nobody","evaluated_at":"2026-01-02T00:00:00Z"}`,
			`{"channels":[],"totals":{"unread":0,"mentions":0,"unread_channels":0,"thread_unread":0,"thread_mentions":0,` +
				`"badge":0,"unread_threads":0,"flagged":0,` +
				`"archived":{"unread_channels":0,"mentions":0}},` +
				`"next_page_token":"","totals_by_label":{},"as_of":[],"evaluated_at":"2026-01-02T00:00:00Z"}`},
	} {
		status, got := c.nodes[0].callJSON(t, g.method, g.body)
		if status != 200 || got != g.want {
			t.Errorf("%s %s:\n got %d %s\nwant 200 %s", g.method, g.body, status, got, g.want)
		}
	}
}

func TestEveryProtocolAnswersTheSame(t *testing.T) {
	c := newCluster(t, 4, 2)
	general(c)
	want := c.nodes[0].unread(t, "ann", "general")
	h2c := &http.Client{Transport: PeerTransport(nil)}
	for name, client := range map[string]queryv1connect.QueryServiceClient{
		"gRPC":          queryv1connect.NewQueryServiceClient(h2c, c.nodes[1].srv.URL, connect.WithGRPC()),
		"gRPC-Web":      queryv1connect.NewQueryServiceClient(http.DefaultClient, c.nodes[1].srv.URL, connect.WithGRPCWeb()),
		"Connect JSON":  queryv1connect.NewQueryServiceClient(http.DefaultClient, c.nodes[1].srv.URL, connect.WithProtoJSON()),
		"Connect GET":   queryv1connect.NewQueryServiceClient(http.DefaultClient, c.nodes[1].srv.URL, connect.WithHTTPGet()),
		"gzip":          queryv1connect.NewQueryServiceClient(http.DefaultClient, c.nodes[1].srv.URL, connect.WithSendGzip()),
		"Connect HTTP2": queryv1connect.NewQueryServiceClient(h2c, c.nodes[1].srv.URL),
	} {
		res, err := client.GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{
			UserId: "ann", ChannelId: "general", EvaluatedAt: timestamppb.New(noon),
		}))
		if err != nil || !proto.Equal(res.Msg, want) {
			t.Errorf("%s: got %v, %v, want %v", name, res, err, want)
		}
		_, err = client.GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: "nope"}))
		if connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%s: an unknown channel gives %v", name, err)
		}
	}
}

func TestUnknownAndDeletedChannelsAreNotFound(t *testing.T) {
	c := newCluster(t, 2, 2)
	c.join("gone", "ann")
	c.message("gone", events.Message{Kind: events.KindChannelDeleted})
	for _, channel := range []string{"gone", "never"} {
		for _, n := range c.nodes {
			for _, method := range []string{"GetUnread", "ExplainUnread", "GetChannel"} {
				body := `{"user_id":"ann","channel_id":"` + channel + `"}`
				if method == "GetChannel" {
					body = `{"channel_id":"` + channel + `"}`
				}
				status, got := n.callJSON(t, method, body)
				want := `{"code":"not_found","message":"channel_id \"` + channel + `\": no such channel, or it was deleted"}`
				if status != 404 || got != want {
					t.Errorf("node %d, %s of %s: got %d %s", n.index, method, channel, status, got)
				}
			}
		}
	}
	if status, got := c.nodes[0].callJSON(t, "GetInbox", `{"user_id":"ann"}`); status != 200 || strings.Contains(got, "gone") {
		t.Errorf("the inbox lists a deleted channel: %d %s", status, got)
	}
}

func TestAfterWaitsForItsRecord(t *testing.T) {
	c := newCluster(t, 2, 2)
	channel := c.channelOn("c", 1)
	c.join(channel, "ann")
	type result struct {
		res *connect.Response[queryv1.ChannelUnread]
		err error
	}
	for _, n := range c.nodes { // the owner, and a node that forwards
		next := c.parts[1].Position()[events.Messages]
		done := make(chan result, 1)
		go func() {
			res, err := n.query.GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{
				UserId: "ann", ChannelId: channel, After: []string{
					testTopics.Token(events.Messages, 1, next),
					testTopics.Token(events.Messages, 0, 1<<40), // a token of another partition is ignored
				},
			}))
			done <- result{res, err}
		}()
		select {
		case r := <-done:
			t.Fatalf("node %d answered before the record was folded: %v, %v", n.index, r.res, r.err)
		case <-time.After(20 * time.Millisecond):
		}
		token := c.post(channel, "m"+channel+string(rune('0'+n.index)), "bob")
		r := <-done
		if r.err != nil {
			t.Fatalf("node %d: %v", n.index, r.err)
		}
		if r.res.Msg.Unread != uint32(n.index)+1 || !slices.Contains(r.res.Msg.AsOf, token) {
			t.Errorf("node %d: got %v, want unread %d as of %s", n.index, r.res.Msg, n.index+1, token)
		}
	}
}

func TestAfterThatNeverComesIsUnavailable(t *testing.T) {
	c := newCluster(t, 2, 2)
	channel := c.channelOn("c", 1)
	c.join(channel, "ann")
	token := testTopics.Token(events.Reads, 1, 7)
	ask := func(n *node, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := n.query.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: channel, After: []string{token}}))
		return err
	}
	for _, n := range c.nodes {
		patience := 300 * time.Millisecond
		err := ask(n, patience)
		// On a slow machine the rest of the deadline may be shorter than the time for an answer. A
		// longer wait leaves more.
		for connect.CodeOf(err) == connect.CodeDeadlineExceeded && patience < 2*maxCall {
			patience *= 2
			err = ask(n, patience)
		}
		var ce *connect.Error
		if !errors.As(err, &ce) || ce.Code() != connect.CodeUnavailable || !strings.Contains(ce.Message(), token+" was not folded within") {
			t.Errorf("node %d: got %v, want unavailable that names %s", n.index, err, token)
			continue
		}
		if ce.Meta().Get("Retry-After") != "1" {
			t.Errorf("node %d: no retry hint in %v", n.index, ce.Meta())
		}
	}
}

func TestMalformedAfterIsRefusedEverywhere(t *testing.T) {
	c := newCluster(t, 2, 1)
	for method, body := range map[string]string{
		"GetUnread": `{"user_id":"a","channel_id":"c","after":["x"]}`, "GetInbox": `{"user_id":"a","after":["x"]}`,
		"ExplainUnread": `{"user_id":"a","channel_id":"c","after":["x"]}`, "GetChannel": `{"channel_id":"c","after":["x"]}`,
	} {
		status, got := c.nodes[0].callJSON(t, method, body)
		if status != 400 || !strings.Contains(got, `after[0] is \"x\", want \"topic/partition/offset\" as in as_of`) {
			t.Errorf("%s: got %d %s", method, status, got)
		}
	}
}
