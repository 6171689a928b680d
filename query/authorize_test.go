package query

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
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

// A user sees their own counts in the channels that they are a member of now. A service sees
// everything, anybody else nothing. It is the same on every node, whichever owns the channel.
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
			// A channel of others and one that does not exist look the same to a user who guesses
			// names.
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

// A token may do what its scopes are for: read everybody's numbers, publish, erase; on the called
// node and on the owner.
func TestScopesOfCalls(t *testing.T) {
	_, producer := newBroker(t)
	c := newCluster(t, 2, 2, func(c *Config) { c.Verifier, c.Producer = authtest.Verifier(t), producer })
	far := c.channelOn("far", 1)
	c.join(far, "bob")
	ingest := ingestv1connect.NewIngestServiceClient(c.nodes[0].srv.Client(), c.nodes[0].srv.URL)
	message := &ingestv1.Event{Event: &ingestv1.Event_Message{Message: &eventsv1.MessageEvent{
		ChannelId: far, Kind: &eventsv1.MessageEvent_MembersJoined{MembersJoined: &eventsv1.MembersJoined{UserIds: []string{"cleo"}}},
	}}}
	erasure := &ingestv1.Event{Event: &ingestv1.Event_Read{Read: &eventsv1.ReadEvent{
		ChannelId: far, UserId: "bob", Kind: &eventsv1.ReadEvent_UserErased{UserErased: &eventsv1.UserErased{}},
	}}}
	publish := func(list ...*ingestv1.Event) func(string) error {
		return func(token string) error {
			_, err := ingest.Publish(t.Context(), called(&ingestv1.PublishRequest{Events: list}, token))
			return err
		}
	}
	for what, call := range map[string]struct {
		scopes string // with which of them it is allowed
		do     func(token string) error
	}{
		"another user's count": {"read", func(token string) error {
			_, err := c.nodes[0].query.GetUnread(t.Context(), called(&queryv1.GetUnreadRequest{UserId: "bob", ChannelId: far}, token))
			return err
		}},
		"another user's inbox": {"read", func(token string) error {
			_, err := c.nodes[0].query.GetInbox(t.Context(), called(&queryv1.GetInboxRequest{UserId: "bob"}, token))
			return err
		}},
		"another user's channels": {"read", func(token string) error {
			_, err := c.nodes[0].query.ListUserChannels(t.Context(), called(&queryv1.ListUserChannelsRequest{OfUserId: "bob"}, token))
			return err
		}},
		"another user's reads": {"publish", func(token string) error {
			_, err := ingest.MarkAllRead(t.Context(), called(&ingestv1.MarkAllReadRequest{UserId: "bob"}, token))
			return err
		}},
		"an event": {"publish", publish(message)}, "an erasure": {"erase", publish(erasure)},
		"an erasure among events": {"publish erase", publish(message, erasure)},
	} {
		for _, scopes := range []string{"", "read", "publish", "erase", "admin", "publish erase", "read admin", "service", "services reader"} {
			err := call.do(authtest.Scoped(t, "svc", scopes))
			if scopes == "service" || auth.ParseScopes(scopes).May(auth.ParseScopes(call.scopes)) {
				if err != nil {
					t.Errorf("%s with %q: %v", what, scopes, err)
				}
			} else if wantCode(t, what+" with "+scopes, err, connect.CodePermissionDenied); err != nil && !strings.Contains(err.Error(), strings.Fields(call.scopes)[0]) {
				t.Errorf("%s with %q: %v, which does not name %s", what, scopes, err, call.scopes)
			}
		}
	}
}
