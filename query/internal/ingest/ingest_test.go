package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/queryv1"
)

// service returns a Service that writes to a broker of the test, and a function that reads the
// records back.
func service(t *testing.T, queries Queries) (*Service, func(n int) []*kgo.Record) {
	brokers := testkit.FakeKafka(t, kfake.SeedTopics(4, events.InputTopics[:]...)).ListenAddrs()
	written := func(n int) (list []*kgo.Record) {
		cl := testkit.Client(t, brokers, append(testkit.FastClientOpts(), kgo.ConsumeTopics(events.InputTopics[:]...))...)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		for len(list) < n {
			f := cl.PollFetches(ctx)
			if err := f.Err0(); err != nil {
				t.Fatalf("after %d of %d records: %v", len(list), n, err)
			}
			list = append(list, f.Records()...)
		}
		return list
	}
	return New(Config{
		Producer: testkit.Client(t, brokers, testkit.FastClientOpts()...), Topics: events.InputTopics, Queries: queries,
		Timeout: 20 * time.Second, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }, Logger: slog.New(slog.DiscardHandler),
	}), written
}

func posted(channel, id string) *ingestv1.Event {
	return &ingestv1.Event{Event: &ingestv1.Event_Message{Message: &eventsv1.MessageEvent{
		ChannelId: channel,
		Kind:      &eventsv1.MessageEvent_MessagePosted{MessagePosted: &eventsv1.MessagePosted{MessageId: id, SenderId: "bob"}},
	}}}
}

// Publish writes an event with its channel as key, and answers with the token of its record, in the
// order of the call. A call with a bad event writes nothing.
func TestPublish(t *testing.T) {
	g, written := service(t, nil)
	list := []*ingestv1.Event{posted("general", "m1"), posted("other", "o1"), posted("general", "m2")}
	bad := append(slices.Clone(list), posted("", "m3"))
	for name, events := range map[string][]*ingestv1.Event{"none": nil, "a bad one": bad, "an empty one": {{}}} {
		_, err := g.Publish(t.Context(), connect.NewRequest(&ingestv1.PublishRequest{Events: events}))
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
		if name == "a bad one" && !strings.Contains(err.Error(), "events[3]") {
			t.Errorf("%s: %v does not say which", name, err)
		}
	}
	res, err := g.Publish(t.Context(), connect.NewRequest(&ingestv1.PublishRequest{Events: list}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{} // channel by token
	for i, channel := range []string{"general", "other", "general"} {
		want[res.Msg.After[i]] = channel
	}
	if len(want) != 3 {
		t.Fatalf("answered with %v", res.Msg.After)
	}
	for _, r := range written(3) {
		token := events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()
		if r.Topic != events.TopicMessages || want[token] != string(r.Key) || r.Offset > 1 {
			t.Errorf("%s has the key %s, want %q", token, r.Key, want[token])
		}
	}
}

// answers is a query service with fixed answers.
type answers struct {
	inbox   []*queryv1.ChannelUnread // one for each page
	threads []*queryv1.ThreadUnread  // one for each page
	unread  map[string]*queryv1.ChannelUnread
	heads   map[string]uint32
	fails   error  // returned after all pages
	asked   string // the caller of the inbox
}

func (a *answers) GetInbox(ctx context.Context, req *connect.Request[queryv1.GetInboxRequest]) (*connect.Response[queryv1.GetInboxResponse], error) {
	m := req.Msg
	id, _ := auth.IdentityOf(ctx)
	a.asked = m.UserId + " of " + m.Label + " by " + id.Subject + " after " + strings.Join(m.After, ",")
	if !m.UnreadOnly || m.Archived != "all" {
		return nil, errors.New("not all that is unread is asked for")
	}
	n := len(m.PageToken)
	if n == len(a.inbox) {
		return connect.NewResponse(&queryv1.GetInboxResponse{}), a.fails
	}
	return connect.NewResponse(&queryv1.GetInboxResponse{Channels: a.inbox[n : n+1], NextPageToken: m.PageToken + "x"}), nil
}

func (a *answers) GetThreads(_ context.Context, req *connect.Request[queryv1.GetThreadsRequest]) (*connect.Response[queryv1.GetThreadsResponse], error) {
	n := len(req.Msg.PageToken)
	if n == len(a.threads) {
		return connect.NewResponse(&queryv1.GetThreadsResponse{}), nil
	}
	return connect.NewResponse(&queryv1.GetThreadsResponse{Threads: a.threads[n : n+1], NextPageToken: req.Msg.PageToken + "x"}), nil
}

func (a *answers) GetUnread(_ context.Context, req *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error) {
	if c := a.unread[req.Msg.ChannelId]; c != nil {
		return connect.NewResponse(c), nil
	}
	return nil, connect.NewError(connect.CodeNotFound, errors.New("no such channel"))
}

func (a *answers) GetChannel(_ context.Context, req *connect.Request[queryv1.GetChannelRequest]) (*connect.Response[queryv1.GetChannelResponse], error) {
	if seq, ok := a.heads[req.Msg.ChannelId]; ok {
		return connect.NewResponse(&queryv1.GetChannelResponse{HeadSeq: seq}), nil
	}
	return nil, connect.NewError(connect.CodeNotFound, errors.New("no such channel"))
}

// TestMarkAllReadOfSeededMessages: if all unread messages were seeded, no message is the latest,
// and MarkAllRead reads the channel up to its head.
func TestMarkAllReadOfSeededMessages(t *testing.T) {
	of := &answers{
		inbox: []*queryv1.ChannelUnread{
			{ChannelId: "history", Unread: 30, LastRead: &queryv1.LastRead{Seq: 10}}, {ChannelId: "gone", Unread: 5}, {ChannelId: "flagged", Flagged: true},
		},
		heads: map[string]uint32{"history": 40},
	}
	g, written := service(t, of)
	res, err := g.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ann"}))
	if err != nil || res.Msg.Channels != 2 {
		t.Fatalf("%v, %v", res, err)
	}
	for _, r := range written(2) {
		var e events.Read
		if err := new(events.Decoder).Read(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
			t.Fatal(err)
		}
		if string(e.ChannelID) == "history" && (e.Kind != events.KindReadUpTo || e.Seq != 40) || string(e.ChannelID) == "flagged" && e.Kind != events.KindFlagSet {
			t.Errorf("wrote %+v", e)
		}
	}
}

// MarkAllRead writes one read for each channel that has unread messages, up to its newest message
// and with its epoch. It calls other nodes with that user as the caller.
func TestMarkAllRead(t *testing.T) {
	of := &answers{inbox: []*queryv1.ChannelUnread{
		{ChannelId: "general", ReadEpoch: 0, Latest: &queryv1.Latest{Seq: 7}},
		{ChannelId: "other", ReadEpoch: 1, Latest: &queryv1.Latest{Seq: 8}},
	}}
	g, written := service(t, of)
	ctx := auth.WithIdentity(t.Context(), auth.Identity{Subject: "desk", Scopes: auth.ScopePublish})
	req := &ingestv1.MarkAllReadRequest{UserId: "ann", InstanceId: "phone", Label: "work", After: []string{"chat.messages/0/1"}}
	res, err := g.MarkAllRead(ctx, connect.NewRequest(req))
	if err != nil || res.Msg.Channels != 2 {
		t.Fatalf("%v, %v", res, err)
	}
	if asked := of.asked; asked != "ann of work by ann after chat.messages/0/1" {
		t.Errorf("asked was for %s", asked)
	}
	for _, r := range written(2) {
		var e eventsv1.ReadEvent
		if err := proto.Unmarshal(r.Value, &e); err != nil {
			t.Fatal(err)
		}
		i := uint32(slices.Index([]string{"general", "other"}, e.ChannelId))
		if e.UserId != "ann" || e.InstanceId != "phone" || e.GetReadUpTo().GetSeq() != 7+i || e.GetReadUpTo().ReadEpoch != i || string(r.Key) != e.ChannelId {
			t.Errorf("written was %v", &e)
		}
		token := events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()
		if e.ChannelId == "other" && !slices.Contains(res.Msg.After, token) {
			t.Errorf("%v lacks %s", res.Msg.After, token)
		}
	}
}

// A read also removes a flag. In a channel without messages there is nothing to read, and an event
// removes the flag.
func TestMarkAllReadOfFlaggedChannels(t *testing.T) {
	g, written := service(t, &answers{inbox: []*queryv1.ChannelUnread{
		{ChannelId: "general", Flagged: true, ReadEpoch: 2, LastRead: &queryv1.LastRead{Seq: 5}, Latest: &queryv1.Latest{Seq: 4}},
		{ChannelId: "empty", Flagged: true, ReadEpoch: 2},
	}})
	if _, err := g.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ann"})); err != nil {
		t.Fatal(err)
	}
	for _, r := range written(2) {
		var e eventsv1.ReadEvent
		if err := proto.Unmarshal(r.Value, &e); err != nil {
			t.Fatal(err)
		}
		ok := e.GetReadUpTo().GetSeq() == 5 && e.GetReadUpTo().ReadEpoch == 2
		if e.ChannelId == "empty" {
			ok = e.GetFlagSet() != nil && !e.GetFlagSet().Flagged && e.MinVersion == 2
		}
		if !ok {
			t.Errorf("written was %v", &e)
		}
	}
}

// With threads, each read includes the threads and reaches their last unread reply. A channel in
// which only threads are unread is read as well, if the user is a member and the channel has the
// label.
func TestMarkAllReadWithThreads(t *testing.T) {
	thread := func(channel string, unread, seq uint32) *queryv1.ThreadUnread {
		return &queryv1.ThreadUnread{ChannelId: channel, Unread: unread, LastReply: &queryv1.Latest{Seq: seq}}
	}
	g, written := service(t, &answers{
		inbox: []*queryv1.ChannelUnread{{ChannelId: "general", ReadEpoch: 3, Latest: &queryv1.Latest{Seq: 4}}, {ChannelId: "plain", Latest: &queryv1.Latest{Seq: 2}}},
		threads: []*queryv1.ThreadUnread{
			thread("general", 1, 9), thread("quiet", 2, 6), thread("quiet", 1, 5), thread("left", 1, 5), thread("unlabelled", 1, 5), thread("deleted", 1, 5),
			thread("read", 0, 5), thread("after it", 1, 5),
		},
		unread: map[string]*queryv1.ChannelUnread{
			"quiet": {ChannelId: "quiet", Member: true, ReadEpoch: 2, Labels: []string{"work"}, LastRead: &queryv1.LastRead{Seq: 3}},
			"left":  {ChannelId: "left", Labels: []string{"work"}}, "unlabelled": {ChannelId: "unlabelled", Member: true},
		},
	})
	res, err := g.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ann", Label: "work", Threads: true}))
	if err != nil || res.Msg.Channels != 3 {
		t.Fatalf("%v, %v", res, err)
	}
	got := map[string]string{}
	for _, r := range written(3) {
		var e eventsv1.ReadEvent
		if err := proto.Unmarshal(r.Value, &e); err != nil {
			t.Fatal(err)
		}
		read := e.GetReadUpTo()
		got[e.ChannelId] = fmt.Sprint(read.GetSeq(), read.GetReadEpoch(), read.GetWithThreads(), e.MinVersion)
	}
	if want := map[string]string{"general": "9 3 true 2", "plain": "2 0 true 2", "quiet": "6 2 true 2"}; !maps.Equal(got, want) {
		t.Errorf("written was %v, want %v", got, want)
	}
}

// together holds answers until a number of channels were requested at the same time.
type together struct {
	*answers
	in  atomic.Int32
	all chan struct{} // closed once all were requested
}

func (a *together) GetUnread(ctx context.Context, req *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error) {
	if a.in.Add(1) == asksAtOnce {
		close(a.all)
	}
	select {
	case <-a.all:
		return a.answers.GetUnread(ctx, req)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// MarkAllRead requests several channels with unread threads only at a time.
func TestMarkAllReadAsksForManyAtOnce(t *testing.T) {
	of := &together{answers: &answers{unread: map[string]*queryv1.ChannelUnread{}}, all: make(chan struct{})}
	for i := range asksAtOnce {
		id := fmt.Sprint("channel", i)
		of.threads = append(of.threads, &queryv1.ThreadUnread{ChannelId: id, Unread: 1, LastReply: &queryv1.Latest{Seq: 5}})
		of.unread[id] = &queryv1.ChannelUnread{ChannelId: id, Member: true}
	}
	g, _ := service(t, of)
	res, err := g.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ann", Threads: true}))
	if err != nil || res.Msg.Channels != asksAtOnce {
		t.Fatalf("%v, %v", res, err)
	}
}

// A list that fails half-way, or a bad id, writes nothing.
func TestMarkAllReadThatFails(t *testing.T) {
	broken := errors.New("broken")
	g, _ := service(t, &answers{inbox: []*queryv1.ChannelUnread{{ChannelId: "general"}}, fails: broken})
	g.cfg.Producer.Close() // so that any write would fail
	if _, err := g.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ann"})); !errors.Is(err, broken) {
		t.Error(err)
	}
	for _, req := range []*ingestv1.MarkAllReadRequest{{}, {UserId: "ann", InstanceId: "\x00"}} {
		if _, err := g.MarkAllRead(t.Context(), connect.NewRequest(req)); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", req, err)
		}
	}
}
