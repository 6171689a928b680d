package cache_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// asked is a set of nodes without a network between them. Node n owns partition n.
type asked struct {
	parts    []*projections.Partition
	handlers map[string]http.Handler // by host
	clients  []queryv1connect.QueryServiceClient
}

// askedNode is a query.Node.
type askedNode struct {
	*asked
	number int32
}

func newAsked(t *testing.T, nodes int) *asked {
	t.Helper()
	file := filepath.Join(t.TempDir(), "peers")
	if err := os.WriteFile(file, []byte(rand.Text()+rand.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets, err := peer.OpenSecrets(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{parts: make([]*projections.Partition, nodes), handlers: map[string]http.Handler{}}
	for i := range nodes {
		url := askedURL(int32(i))
		h := query.Handler(query.Config{
			Node: &askedNode{a, int32(i)}, Self: url, Logger: slog.New(slog.DiscardHandler), Peers: peer.Proof{Secrets: secrets}, Transport: a,
		})
		a.handlers[url] = h
		a.clients = append(a.clients, queryv1connect.NewQueryServiceClient(&http.Client{Transport: a}, url))
	}
	return a
}

func askedURL(number int32) string { return fmt.Sprintf("http://node%d", number) }

// RoundTrip lets the handler of the host answer at once.
func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	h := a.handlers[r.URL.Scheme+"://"+r.URL.Host]
	if h == nil {
		return nil, errors.New("there is no such node: " + r.URL.Host)
	}
	to := r.Clone(r.Context())
	to.RequestURI, to.RemoteAddr, to.Host = r.URL.RequestURI(), "127.0.0.1:1", r.URL.Host
	if to.Body == nil {
		to.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, to)
	return w.Result(), nil
}

func (n *askedNode) Partitions() int32 { return int32(len(n.parts)) }

func (n *askedNode) Live(p int32) (*projections.Partition, error) {
	if p != n.number {
		return nil, fmt.Errorf("partition %d is not here", p)
	}
	return n.parts[p], nil
}

func (n *askedNode) Wait(context.Context, int32, events.Input, int64) error { return nil }

func (n *askedNode) Owner(_ context.Context, p int32) (string, error) { return askedURL(p), nil }

func (n *askedNode) RelayKey(url string) string { return "the key of " + url }

func (n *askedNode) MayHold(int32, uint64) bool { return true }

func (n *askedNode) Arrivals(string) watch.Arrivals { return nil }

func (n *askedNode) Watch(int32, string) (watch.Watcher, error) {
	return nil, errors.New("nobody watches here")
}

// inbox returns a node's answer to a user at a time: everything that GetInbox and GetThreads list.
// Each channel must equal the answer of GetUnread.
func (a *asked) inbox(t failer, number int, user string, now int64) (*checker.Answer, *queryv1.GetInboxResponse) {
	t.Helper()
	at := timestamppb.New(time.UnixMilli(now))
	inbox, err := a.clients[number].GetInbox(context.Background(), connect.NewRequest(&queryv1.GetInboxRequest{
		UserId: user, Archived: "all", PageSize: 1000, EvaluatedAt: at,
	}))
	if err != nil {
		t.Fatalf("GetInbox of %s: %v", user, err)
	}
	threads, err := a.clients[number].GetThreads(context.Background(), connect.NewRequest(&queryv1.GetThreadsRequest{
		UserId: user, PageSize: 1000, EvaluatedAt: at,
	}))
	if err != nil {
		t.Fatalf("GetThreads of %s: %v", user, err)
	}
	out := &checker.Answer{
		Channels: map[string]checker.Channel{}, Threads: map[checker.ThreadID]checker.Thread{},
		Totals: askedTotals(inbox.Msg.Totals), ByLabel: map[string]model.Totals{},
	}
	for _, c := range inbox.Msg.Channels {
		out.Channels[c.ChannelId] = askedChannel(c)
		one, err := a.clients[number].GetUnread(context.Background(), connect.NewRequest(&queryv1.GetUnreadRequest{
			UserId: user, ChannelId: c.ChannelId, EvaluatedAt: at,
		}))
		if err != nil {
			t.Fatalf("GetUnread of %s in %s: %v", user, c.ChannelId, err)
		}
		listed := proto.CloneOf(c)
		listed.EvaluatedAt, listed.AsOf = one.Msg.EvaluatedAt, one.Msg.AsOf
		if !proto.Equal(one.Msg, listed) {
			t.Fatalf("of %s in %s GetUnread says\n%v\nand GetInbox\n%v", user, c.ChannelId, one.Msg, listed)
		}
	}
	for _, th := range threads.Msg.Threads {
		out.Threads[checker.ThreadID{Channel: th.ChannelId, Thread: th.ThreadId}] = checker.Thread{
			Counts: checker.Counts{Unread: th.Unread, Mentions: th.Mentions, DirectMentions: th.DirectMentions,
				FirstUnread: askedRef(th.FirstUnread), FirstMention: askedRef(th.FirstMention)},
			Place:  askedPlace(th.LastRead, th.LastReply, th.ReadEpoch),
			Listed: true,
		}
		if c := out.Channels[th.ChannelId]; th.Archived != c.Archived || askedLevels(th.Level, th.Until, th.LevelAfter) != c.Levels {
			t.Fatalf("of %s thread %s is said to be\n%v\nin a channel\n%+v", user, th.ThreadId, th, c)
		}
	}
	for label, sum := range inbox.Msg.TotalsByLabel {
		out.ByLabel[label] = askedTotals(sum)
	}
	if of, all := askedTotals(threads.Msg.Totals), out.Totals; of.ThreadUnread != all.ThreadUnread || of.ThreadMentions != all.ThreadMentions ||
		of.UnreadThreads != all.UnreadThreads {
		t.Fatalf("of %s's threads GetThreads adds up %+v, and GetInbox %+v", user, of, all)
	}
	return out, inbox.Msg
}

func askedChannel(c *queryv1.ChannelUnread) checker.Channel {
	return checker.Channel{
		Counts: checker.Counts{Unread: c.Unread, Mentions: c.Mentions, DirectMentions: c.DirectMentions,
			FirstUnread: askedRef(c.FirstUnread), FirstMention: askedRef(c.FirstMention)},
		Place:         askedPlace(c.LastRead, c.Latest, c.ReadEpoch),
		OfflineUnread: c.OfflineUnread, Levels: askedLevels(c.Level, c.Until, c.LevelAfter), IgnoreAll: c.IgnoreMentionAll,
		Flagged: c.Flagged, Archived: c.Archived, Keep: c.Filed.GetKeep(), Line: askedRef(c.Line), Labels: c.Labels, OwnLabels: c.OwnLabels,
	}
}

func askedRef(r *queryv1.MessageRef) projections.Ref {
	return projections.Ref{MessageID: r.GetMessageId(), Seq: r.GetSeq()}
}

func askedPlace(read *queryv1.LastRead, latest *queryv1.Latest, epoch uint32) (p checker.Place) {
	p.ReadEpoch = epoch
	if read != nil {
		p.LastRead, p.LastReadAt = projections.Ref{MessageID: read.MessageId, Seq: read.Seq}, read.At.AsTime().UnixMilli()
	}
	if latest != nil {
		p.Latest = projections.Head{MessageID: latest.MessageId, Seq: latest.Seq, At: latest.At.AsTime().UnixMilli(), SenderID: latest.SenderId, Preview: latest.Preview}
	}
	return p
}

func askedTotals(t *queryv1.Totals) model.Totals {
	return model.Totals{
		Unread: t.GetUnread(), Mentions: t.GetMentions(), UnreadChannels: t.GetUnreadChannels(),
		ThreadUnread: t.GetThreadUnread(), ThreadMentions: t.GetThreadMentions(), UnreadThreads: t.GetUnreadThreads(),
		Badge: t.GetBadge(), Flagged: t.GetFlagged(),
		ArchivedChannels: t.GetArchived().GetUnreadChannels(), ArchivedMentions: t.GetArchived().GetMentions(),
	}
}
