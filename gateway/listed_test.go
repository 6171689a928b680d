package gateway

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// A thread that was touched more than 30 days of log time ago does not return to the panel and the
// totals because of a delta, for example when the user turns off mentions of everybody. Either
// source of the log time is enough for that.
func TestThreadsOfLongAgoStayAway(t *testing.T) {
	touched := time.UnixMilli(1_700_000_000_000)
	month := 30 * 24 * time.Hour
	post := func(g *Gateway, at time.Time) {
		value, err := proto.Marshal(&eventsv1.MessageEvent{ChannelId: "other", OccurredAt: timestamppb.New(at), Kind: &eventsv1.MessageEvent_MessagePosted{
			MessagePosted: &eventsv1.MessagePosted{MessageId: "m9", SenderId: "bob"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.takeMessage(&kgo.Record{Value: value, Offset: 4, Timestamp: at}, &decoder{}); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(g *Gateway, at time.Time) {
		g.passTimeOf(&view.View{Channel: "other", Latest: view.Head{Ref: view.Ref{ID: "m9", Seq: 1, At: at.UnixMilli()}}})
	}
	for name, c := range map[string]struct {
		know   func(*Gateway, time.Time)
		later  time.Duration
		always bool
		listed bool
	}{
		"nothing is known of the time":       {nil, 0, false, true},
		"a message 30 days later":            {post, month, false, true},
		"a message after that":               {post, month + time.Millisecond, false, false},
		"an inbox shows one 30 days later":   {shown, month, false, true},
		"an inbox shows one after that":      {shown, month + time.Millisecond, false, false},
		"threads are listed for good":        {post, 20 * month, true, true},
		"a message before the thread's last": {post, -month, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := bare()
			g.cfg.ThreadsAlways = c.always
			u := g.someone("ann")
			g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("general"), Member: true, Stamp: events.Stamp{FoldVersion: 2, M: 9}})
			if c.know != nil {
				c.know(g, touched.Add(c.later))
			}
			g.applyDelta(u, &events.UnreadDelta{
				ChannelID: []byte("general"), ThreadID: []byte("m1"), Member: true, Unread: 3, Mentions: 1, ReadEpoch: 4, TouchedAt: touched.UnixMilli(),
				FirstMention: events.Ref{MessageID: []byte("r1"), Seq: 2}, LastRead: events.Ref{MessageID: []byte("m1"), Seq: 1},
				Latest: events.Head{Seq: 2, MessageID: []byte("r1"), At: touched.UnixMilli()}, Stamp: events.Stamp{FoldVersion: 2, M: 9, R: 1},
			})
			v := u.threads[scope{"general", "m1"}].view
			if v.Member != c.listed || v.Unread > 0 != c.listed || v.Details != nil != c.listed || u.totals.Badge > 0 != c.listed || v.Epoch != 4 || v.Last.Seq != 1 {
				t.Errorf("%+v; totals %+v", v, u.totals)
			}
			kept := u.totals
			if u.total(); u.totals != kept {
				t.Errorf("kept up %+v, added up anew %+v", kept, u.totals)
			}
		})
	}
}
