package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/client"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// moving is a node whose partition moves during the first calls.
type moving struct {
	queryv1connect.UnimplementedQueryServiceHandler
	fails, calls int
	code         connect.Code
	header       string
	after        []string
}

func (m *moving) GetUnread(_ context.Context, r *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error) {
	m.calls++
	m.header, m.after = r.Header().Get("Authorization"), r.Msg.After
	if m.calls <= m.fails {
		return nil, connect.NewError(m.code, errors.New("the partition is moving"))
	}
	return connect.NewResponse(&queryv1.ChannelUnread{ChannelId: r.Msg.ChannelId, Unread: 7}), nil
}

func ask(t *testing.T, m *moving) (*queryv1.ChannelUnread, error) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(queryv1connect.NewQueryServiceHandler(m))
	s := httptest.NewServer(mux)
	defer s.Close()
	c, err := client.New(client.Config{URL: s.URL, Token: "t", Tries: 3})
	if err != nil {
		t.Fatal(err)
	}
	return c.Unread(context.Background(), "ann", "general", "chat.reads/0/7")
}

func TestUnavailableIsTriedAgain(t *testing.T) {
	m := &moving{fails: 2, code: connect.CodeUnavailable}
	got, err := ask(t, m)
	if err != nil || got.Unread != 7 || m.calls != 3 {
		t.Fatalf("%v, %v after %d calls", got, err, m.calls)
	}
	if m.header != "Bearer t" || len(m.after) != 1 || m.after[0] != "chat.reads/0/7" {
		t.Errorf("asked with %q and after %v", m.header, m.after)
	}
}

func TestOtherErrorsAndTooManyAreReturned(t *testing.T) {
	m := &moving{fails: 9, code: connect.CodeUnavailable}
	if _, err := ask(t, m); connect.CodeOf(err) != connect.CodeUnavailable || m.calls != 3 {
		t.Errorf("%v after %d calls", err, m.calls)
	}
	m = &moving{fails: 9, code: connect.CodeNotFound}
	if _, err := ask(t, m); connect.CodeOf(err) != connect.CodeNotFound || m.calls != 1 {
		t.Errorf("%v after %d calls", err, m.calls)
	}
	if _, err := client.New(client.Config{}); err == nil {
		t.Error("a client without an address was made")
	}
}
