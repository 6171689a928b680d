package gateway

import (
	"context"
	"fmt"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/query/queryv1"
)

// A user leaves and is back before the delta that ends a thread arrives. Their devices learn that
// it has ended: no later delta names it.
func TestTheEndOfAThreadReachesWhoIsBack(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	u.threads = map[scope]*thread{}
	d := g.device(t, u)
	ann := events.Message{ChannelID: []byte("c"), IDs: [][]byte{[]byte("ann")}}
	delta := func(thread string, member bool, m int64) {
		g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("c"), ThreadID: []byte(thread), Member: member, Stamp: events.Stamp{FoldVersion: 1, M: m}})
	}
	u.hub.mu.With(func() {
		delta("", true, 1)
		delta("m1", true, 2)
		g.revoke(u.hub, &ann, 5)
		g.admit(u.hub, &ann, 6)
		delta("m1", true, 3) // from before the leave
		delta("m1", false, 4)
	})
	if f := d.last(t); f["thread_id"] != "m1" || f["followed"] != false {
		t.Errorf("the last frame is %v", f)
	}
}

// The inbox of one member has a channel's new labels before the channel's record comes. The record
// brings them to the other member, whose inbox is older.
func TestARecordBringsLabelsThatAnInboxAlreadyHad(t *testing.T) {
	g := bare()
	ann, bob := g.someone("ann"), g.someone("bob")
	d := g.device(t, ann)
	inbox := func(u *user, said *view.Details, m int64) {
		v := view.View{Channel: "c", Member: true, Details: said}
		u.replace(g, u.entryOf("c"), &v, events.Stamp{FoldVersion: view.OfInbox, M: m})
	}
	ann.hub.mu.With(func() {
		inbox(ann, nil, 8)
		inbox(bob, &view.Details{Labels: "work\x00"}, 10)
		g.applyChannel(ann.hub, &events.ChannelRecord{ChannelID: []byte("c"), Labels: [][]byte{[]byte("work")}, Stamp: events.Stamp{FoldVersion: 1, M: 9}})
	})
	if f := d.last(t); fmt.Sprint(f["labels"]) != "[work]" {
		t.Errorf("the last frame is %v", f)
	}
}

// The record of a channel comes before the delta that makes the first user here a member, so the
// gateway drops the record. It asks the owner whether the channel is archived, and for its labels,
// because no delta has them.
func TestWhoIsAddedAfterTheRecordLearnsTheLabels(t *testing.T) {
	g := bare()
	g.cfg.Topics = Topics{Messages: events.TopicMessages, Reads: events.TopicReads, Deliveries: events.TopicDeliveries}
	u := g.someone("ann")
	d := g.device(t, u)
	g.query = labelled{}
	g.applyChannel(u.hub, &events.ChannelRecord{ChannelID: []byte("c"), Labels: [][]byte{[]byte("work")}, Archived: true, Stamp: events.Stamp{FoldVersion: 1, M: 9}})
	g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("c"), Member: true, Stamp: events.Stamp{FoldVersion: 1, M: 9}})
	for len(g.asks) > 0 {
		g.answerAsk(t.Context(), <-g.asks)
	}
	if f := d.last(t); fmt.Sprint(f["labels"]) != "[work]" || f["archived"] != true {
		t.Errorf("the last frame is %v", f)
	}
	g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("c"), Member: true, Stamp: events.Stamp{FoldVersion: 1, M: 9, R: 2}})
	if f := d.last(t); len(g.asks) > 0 || fmt.Sprint(f["labels"]) != "[work]" {
		t.Errorf("%d more questions after the answer, and the last frame is %v", len(g.asks), f)
	}
}

// labelled is an owner of an archived channel with a label.
type labelled struct{ Queries }

func (labelled) GetUnread(_ context.Context, m *queryv1.GetUnreadRequest) (*queryv1.ChannelUnread, error) {
	return &queryv1.ChannelUnread{ChannelId: m.ChannelId, Member: true, Archived: true, Labels: []string{"work"}, AsOf: []string{"chat.messages/0/8", "chat.reads/0/0"}}, nil
}
