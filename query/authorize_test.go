package query

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/auth/authtest"
	"github.com/tidemark/tidemark/query/queryv1"
)

// called makes a request with a token.
func called[T any](m *T, token string) *connect.Request[T] {
	r := connect.NewRequest(m)
	if token != "" {
		r.Header().Set("Authorization", "Bearer "+token)
	}
	return r
}

func wantCode(t *testing.T, what string, err error, want connect.Code) {
	t.Helper()
	if err == nil || connect.CodeOf(err) != want {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// A user sees himself in the channels that he is a member of now, a service everything, anybody else nothing; on every
// node, whoever owns the channel.
func TestWhoMaySeeWhat(t *testing.T) {
	c := newCluster(t, 4, 2, func(c *Config) { c.Verifier = authtest.Verifier(t) })
	ann, service := authtest.Token(t, "ann", time.Hour), authtest.Service(t)
	for p := range int32(4) {
		mine, other := c.channelOn("mine", p), c.channelOn("other", p)
		c.join(mine, "ann", "bob")
		c.join(other, "bob")
		c.post(mine, "m1", "bob")
		c.post(other, "m1", "bob")
		for _, n := range c.nodes {
			q := n.query
			ctx := context.Background()
			get := func(user, channel, token string) error {
				_, err := q.GetUnread(ctx, called(&queryv1.GetUnreadRequest{UserId: user, ChannelId: channel}, token))
				return err
			}
			channel := func(channel, token string) error {
				_, err := q.GetChannel(ctx, called(&queryv1.GetChannelRequest{ChannelId: channel}, token))
				return err
			}
			explain := func(channel, token string) error {
				_, err := q.ExplainUnread(ctx, called(&queryv1.ExplainUnreadRequest{UserId: "ann", ChannelId: channel}, token))
				return err
			}
			for what, err := range map[string]error{
				"her own": get("ann", mine, ann), "herself unnamed": get("", mine, ann), "her channel": channel(mine, ann),
				"her explanation": explain(mine, ann), "a service": get("bob", other, service), "a service, a channel": channel(other, service),
			} {
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			wantCode(t, "no token", get("ann", mine, ""), connect.CodeUnauthenticated)
			wantCode(t, "a bad token", get("ann", mine, ann+"x"), connect.CodeUnauthenticated)
			wantCode(t, "somebody else", get("bob", mine, ann), connect.CodePermissionDenied)
			// Guessing: a channel of others and one that is not there look the same.
			for what, of := range map[string]func(string, string) error{
				"GetUnread": func(ch, token string) error { return get("ann", ch, token) }, "GetChannel": channel, "ExplainUnread": explain,
			} {
				there, missing := of(other, ann), of("missing", ann)
				wantCode(t, what+" of others", there, connect.CodeNotFound)
				wantCode(t, what+" of nothing", missing, connect.CodeNotFound)
				if there != nil && missing != nil &&
					strings.ReplaceAll(there.Error(), other, "X") != strings.ReplaceAll(missing.Error(), "missing", "X") {
					t.Errorf("%s tells one from the other: %q, %q", what, there, missing)
				}
			}
		}
		c.leave(mine, "ann")
		for _, n := range c.nodes {
			_, err := n.query.GetChannel(t.Context(), called(&queryv1.GetChannelRequest{ChannelId: mine}, ann))
			wantCode(t, "after she left", err, connect.CodeNotFound)
		}
	}
	for _, n := range c.nodes {
		if _, err := n.query.GetInbox(t.Context(), called(&queryv1.GetInboxRequest{}, ann)); err != nil {
			t.Errorf("her inbox, over both nodes: %v", err)
		}
		_, err := n.query.GetInbox(t.Context(), called(&queryv1.GetInboxRequest{UserId: "bob"}, ann))
		wantCode(t, "the inbox of another", err, connect.CodePermissionDenied)
		_, err = n.query.GetThreads(t.Context(), called(&queryv1.GetThreadsRequest{UserId: "bob"}, ann))
		wantCode(t, "the threads of another", err, connect.CodePermissionDenied)
	}
}

// A stream needs a token as a call does, and ends when the token expires.
func TestWatchesNeedTokens(t *testing.T) {
	c := newCluster(t, 2, 2, func(c *Config) { c.Verifier = authtest.Verifier(t) })
	c.join("general", "ann")
	watch := func(user, token string) (*queryv1.WatchUnreadResponse, error) {
		stream, err := c.nodes[0].query.WatchUnread(t.Context(), called(&queryv1.WatchUnreadRequest{UserId: user}, token))
		if err != nil {
			return nil, err
		}
		defer func() { _ = stream.Close() }()
		var last *queryv1.WatchUnreadResponse
		for stream.Receive() {
			last = stream.Msg()
		}
		return last, stream.Err()
	}
	_, err := watch("ann", "")
	wantCode(t, "no token", err, connect.CodeUnauthenticated)
	_, err = watch("bob", authtest.Token(t, "ann", time.Hour))
	wantCode(t, "another user", err, connect.CodePermissionDenied)
	// Clocks may differ by 30 s, so this one has a second or two left.
	snapshot, err := watch("", authtest.Token(t, "ann", -28*time.Second))
	wantCode(t, "an expiring token", err, connect.CodeUnauthenticated)
	if snapshot == nil || len(snapshot.GetSnapshot().GetChannels()) != 1 {
		t.Errorf("before it expired: %v", snapshot)
	}
}
