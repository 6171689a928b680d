package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/client"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// broken is a node that answers each write, and each first read, with unavailable, although it may
// have made the write.
type broken struct {
	moving
	ingestv1connect.UnimplementedIngestServiceHandler
	writes []string
	works  bool
}

func (b *broken) wrote(what string) error {
	b.writes = append(b.writes, what)
	if !b.works {
		return connect.NewError(connect.CodeUnavailable, nil)
	}
	return nil
}

func (b *broken) Publish(context.Context, *connect.Request[ingestv1.PublishRequest]) (*connect.Response[ingestv1.PublishResponse], error) {
	return connect.NewResponse(&ingestv1.PublishResponse{After: []string{"chat.messages/0/1"}}), b.wrote("publish")
}

func (b *broken) MarkAllRead(_ context.Context, r *connect.Request[ingestv1.MarkAllReadRequest]) (*connect.Response[ingestv1.MarkAllReadResponse], error) {
	return connect.NewResponse(&ingestv1.MarkAllReadResponse{After: []string{"chat.reads/0/1"}}), b.wrote(fmt.Sprintf("mark all read of %s: %q %t %s %s", r.Msg.UserId, r.Msg.Label, r.Msg.Threads, r.Msg.InstanceId, r.Msg.After))
}

func (b *broken) GetChannel(_ context.Context, r *connect.Request[queryv1.GetChannelRequest]) (*connect.Response[queryv1.GetChannelResponse], error) {
	if b.calls++; b.calls == 1 {
		return nil, connect.NewError(connect.CodeUnavailable, nil)
	}
	return connect.NewResponse(&queryv1.GetChannelResponse{ChannelId: r.Msg.ChannelId, HeadSeq: 3}), nil
}

// A client repeats a read that is unavailable, and makes a write only once, whatever its answer.
func TestWritesAreTriedOnce(t *testing.T) {
	b := &broken{}
	mux := http.NewServeMux()
	mux.Handle(queryv1connect.NewQueryServiceHandler(b))
	mux.Handle(ingestv1connect.NewIngestServiceHandler(b))
	s := httptest.NewServer(mux)
	defer s.Close()
	c, err := client.New(client.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Channel(t.Context(), "general"); err != nil || got.HeadSeq != 3 || b.calls != 2 {
		t.Errorf("a read: %v, %v after %d calls", got, err, b.calls)
	}
	for _, works := range []bool{false, true} {
		b.works, b.writes = works, nil
		published, err1 := c.Publish(t.Context(), &ingestv1.Event{})
		marked, err2 := c.MarkAllRead(t.Context(), "ann", client.MarkAll{Label: "work", Threads: true, InstanceID: "phone", After: []string{"chat.messages/0/1", "chat.messages/0/2"}})
		if want := []string{"publish", `mark all read of ann: "work" true phone [chat.messages/0/2]`}; !slices.Equal(b.writes, want) {
			t.Errorf("written: %v, want %v", b.writes, want)
		}
		if works && (err1 != nil || err2 != nil || !slices.Equal(published, []string{"chat.messages/0/1"}) || !slices.Equal(marked, []string{"chat.reads/0/1"})) {
			t.Errorf("answers: %v, %v; %v, %v", published, err1, marked, err2)
		}
		if !works && (connect.CodeOf(err1) != connect.CodeUnavailable || connect.CodeOf(err2) != connect.CodeUnavailable) {
			t.Errorf("errors: %v; %v", err1, err2)
		}
	}
}
