package gateway

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/query/queryv1"
)

// A filed channel returns when the head is beyond its position. A channel that is archived for
// everybody returns with the record that ends the archiving.
func TestFiledAndArchived(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	d := g.device(t, u)
	m := int64(0)
	record := func(head uint32, archived bool, labels ...string) {
		m++
		r := &events.ChannelRecord{ChannelID: []byte("c"), HeadPos: head, Archived: archived, Stamp: events.Stamp{FoldVersion: 1, M: m}}
		for _, l := range labels {
			r.Labels = append(r.Labels, []byte(l))
		}
		u.hub.mu.With(func() { g.applyChannel(u.hub, r) })
	}
	delta := func(filed events.Filed, latest uint32, labels ...string) {
		m++
		x := &events.UnreadDelta{
			ChannelID: []byte("c"), Member: true, Unread: 2, Mentions: 1, Filed: filed, Latest: events.Head{Seq: latest, Pos: latest, MessageID: []byte("m")},
			Stamp: events.Stamp{FoldVersion: 1, M: m},
		}
		for _, l := range labels {
			x.Labels = append(x.Labels, []byte(l))
		}
		u.hub.mu.With(func() { g.applyDelta(u, x) })
	}
	check := func(what string, archived bool, badge uint64) {
		t.Helper()
		f := d.last(t)
		if (f["archived"] == true) != archived || u.totals.Badge != badge || frame2(f, "totals", "badge") != float64(badge) {
			t.Errorf("%s: %v, want archived %v and a badge of %d", what, f, archived, badge)
		}
	}
	filed := events.Filed{Is: true, Pos: 5}
	delta(events.Filed{}, 5)
	record(5, false)
	check("not filed", false, 2)
	delta(filed, 5)
	check("filed", true, 0)
	if n := frame2(d.last(t), "totals", "archived"); n == nil || n.(map[string]any)["mentions"] != 1.0 {
		t.Errorf("the frame lacks the filing: %v", d.last(t))
	}
	record(6, false)
	check("news", false, 2)
	delta(events.Filed{Is: true, Keep: true}, 6)
	record(9, false)
	check("kept", true, 0)
	delta(events.Filed{}, 9)
	check("taken out", false, 2)
	record(9, true)
	check("archived for everybody", true, 0)
	delta(filed, 9)
	record(9, true)
	check("by both", true, 0)
	record(9, false)
	check("for nobody, and the user's has had news", false, 2)

	record(9, false, "work", "server")
	if f := d.last(t); len(f["labels"].([]any)) != 2 || f["own_labels"] != nil {
		t.Errorf("labels of the channel: %v", f)
	}
	delta(events.Filed{}, 9, "mine", "work")
	if f := d.last(t); len(f["labels"].([]any)) != 3 || len(f["own_labels"].([]any)) != 2 {
		t.Errorf("labels of both: %v", f)
	}
	record(9, false)
	if f := d.last(t); len(f["labels"].([]any)) != 2 {
		t.Errorf("the user's own: %v", f)
	}
}

// The gateway uses an answer until a record of the channel comes, and requests what a later delta
// leaves open.
func TestWhatOnlyAnAnswerSays(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	e := u.entryOf("c")
	u.hub.mu.With(func() {
		u.change(e, func() { g.applyMembership(u, e, "c", true, 1) })
		v := view.OfAnswer(&queryv1.ChannelUnread{ChannelId: "c", Member: true, Archived: true, Labels: []string{"mine", "work"}, OwnLabels: []string{"mine"}})
		u.change(e, func() {
			g.complete(e, &v, 0, true)
			e.view = v
		})
	})
	if s := e.ch.whole; !s.Archived || s.Labels != view.Join([]string{"work"}) {
		t.Errorf("learned %+v", s)
	}
	u.hub.mu.With(func() {
		g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("c"), Member: true, Unread: 1, Labels: [][]byte{[]byte("mine")}, Stamp: events.Stamp{FoldVersion: 1, M: 5}})
	})
	if !e.view.Archived || e.view.Details.Labels != view.Join([]string{"mine", "work"}) || e.asking {
		t.Errorf("%+v, %+v", e.view, e.view.Details)
	}
	u.hub.mu.With(func() {
		g.applyDelta(u, &events.UnreadDelta{
			ChannelID: []byte("c"), Member: true, Filed: events.Filed{Is: true, Pos: 3}, Stamp: events.Stamp{FoldVersion: 1, M: 6},
		})
	})
	if !e.asking {
		t.Error("nobody is asked whether the head is beyond a filed position")
	}
}

// Each viewed message is sent. Of reads, the furthest one and those with threads are sent.
func TestReceiptsOfViews(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	d := g.device(t, u)
	u.hub.mu.With(func() {
		g.admit(u.hub, members(events.KindMembersJoined, "c", "ann"), 1)
		g.applyReceipts(u.hub, &eventsv1.ReceiptsRecord{
			ChannelId: "c",
			Viewed:    []*eventsv1.Receipt{{UserId: "bob", MessageId: "m1", Seq: 1}, {UserId: "bob", MessageId: "m2", Seq: 2}},
			Readers: []*eventsv1.Receipt{
				{UserId: "bob", MessageId: "m1", Seq: 1, WithThreads: true}, {UserId: "bob", MessageId: "m2", Seq: 2}, {UserId: "bob", MessageId: "m3", Seq: 3},
			},
		})
	})
	for _, f := range d.waiting(t) {
		list, _ := f["readers"].([]any)
		if len(list) != 2 {
			t.Fatalf("%v", f)
		}
		first := list[0].(map[string]any)
		if f["type"] == "receipt.read" && (first["with_threads"] != true || list[1].(map[string]any)["seq"] != 3.0) ||
			f["type"] == "receipt.viewed" && first["message_id"] != "m1" {
			t.Errorf("%v", f)
		}
	}
	if n := len(d.waiting(t)); n != 2 {
		t.Errorf("%d frames", n)
	}
}

// A message is not sent to users from whom it is hidden.
func TestHiddenFrom(t *testing.T) {
	g := bare()
	ann, eve := g.someone("ann"), g.someone("eve")
	hers, theirs := g.device(t, ann), g.device(t, eve)
	post := &events.Message{
		Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte("m1"), SenderID: []byte("bob"), HiddenFrom: [][]byte{[]byte("eve"), []byte("bob")},
	}
	ann.hub.mu.With(func() {
		g.admit(ann.hub, members(events.KindMembersJoined, "c", "ann", "eve"), 1)
	})
	g.applyMessage(post, 2)
	ann.hub.mu.With(func() {
		g.applyChannel(ann.hub, &events.ChannelRecord{ChannelID: []byte("c"), HeadSeq: 1, HeadPos: 1, Latest: events.Head{Seq: 1, Pos: 1, MessageID: []byte("m1")}, Stamp: events.Stamp{FoldVersion: 1, M: 3}})
	})
	if len(hers.waiting(t)) != 1 || len(theirs.waiting(t)) != 0 {
		t.Errorf("ann got %v, eve %v", hers.waiting(t), theirs.waiting(t))
	}
}

// The gateway derives the mentions by name in a large channel. With ignore_mention_all they are all
// of its mentions.
func TestDirectMentionsOfALargeChannel(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	d := g.device(t, u)
	delta := &events.UnreadDelta{
		ChannelID: []byte("c"), Member: true, Large: true, Mentioned: []uint32{4}, Stamp: events.Stamp{FoldVersion: 1, M: 9},
	}
	record := &events.ChannelRecord{ChannelID: []byte("c"), HeadPos: 6, Alls: []uint32{2, 4, 5}, Large: true, Stamp: events.Stamp{FoldVersion: 1, M: 9}}
	u.hub.mu.With(func() { g.applyDelta(u, delta) })
	u.hub.mu.With(func() { g.applyChannel(u.hub, record) })
	if f := d.last(t); f["unread"] != 6.0 || f["mentions"] != 3.0 || f["direct_mentions"] != 1.0 {
		t.Errorf("%v", f)
	}
	delta.IgnoreAll, delta.Stamp.R = true, 1
	u.hub.mu.With(func() { g.applyDelta(u, delta) })
	if f := d.last(t); f["unread"] != 6.0 || f["mentions"] != 1.0 || f["direct_mentions"] != 1.0 || f["ignore_mention_all"] != true {
		t.Errorf("without @all: %v", f)
	}
}
