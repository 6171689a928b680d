package gateway

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/query/queryv1"
)

// crowdRecord returns a record of a large channel whose last message is at an offset.
func crowdRecord(offset int64) *events.ChannelRecord {
	n := uint32(offset)
	return &events.ChannelRecord{
		ChannelID: []byte("crowd"), Large: true, HeadSeq: n, HeadPos: n, MemberCount: 1000,
		Latest: events.Head{Seq: n, Pos: n}, Stamp: events.Stamp{FoldVersion: 1, M: offset + 1},
	}
}

func crowdDelta(m, r int64) *events.UnreadDelta {
	return &events.UnreadDelta{ChannelID: []byte("crowd"), Member: true, Large: true, Stamp: events.Stamp{FoldVersion: 1, M: m, R: r}}
}

// crowdRunsAhead makes a user a member of a large channel whose records run ahead of the deltas. It
// returns the stamp of the last derived counts.
func (g *Gateway) crowdRunsAhead(t *testing.T, u *user, d *conn) events.Stamp {
	t.Helper()
	g.applyDelta(u, crowdDelta(5, 1))
	for offset := int64(5); offset < 12; offset++ {
		g.applyChannel(u.hub, crowdRecord(offset))
	}
	derived, err := events.ParseStamp(d.last(t)["stamp"].(string))
	if err != nil || derived.M != 12 {
		t.Fatalf("derived as of %v, %v", derived, err)
	}
	return derived
}

// counted is an owner that has folded up to an offset.
type counted struct {
	Queries
	unread uint32
	upTo   string
}

func (c counted) GetUnread(_ context.Context, m *queryv1.GetUnreadRequest) (*queryv1.ChannelUnread, error) {
	return &queryv1.ChannelUnread{ChannelId: m.ChannelId, Member: true, Unread: c.unread, AsOf: []string{c.upTo, "chat.reads/0/0"}}, nil
}

// The records of a large channel run ahead of a delta that says Ask. For a client, the owner's
// answer then is no older than the counts derived from the records: a client that considered it
// older would show the derived count until the user reads.
func TestAnAnswerIsNotOlderThanWhatWasDerived(t *testing.T) {
	g := bare()
	g.cfg.Topics = Topics{Messages: events.TopicMessages, Reads: events.TopicReads, Deliveries: events.TopicDeliveries}
	u := g.someone("ann")
	d := g.device(t, u)
	derived := g.crowdRunsAhead(t, u, d)
	ask := crowdDelta(11, 1) // one of the messages is hidden from her
	ask.Ask = true
	g.applyDelta(u, ask)
	g.query = counted{unread: 10, upTo: "chat.messages/0/11"}
	for len(g.asks) > 0 {
		g.answerAsk(t.Context(), <-g.asks)
	}
	f := d.last(t)
	answered, err := events.ParseStamp(f["stamp"].(string))
	if err != nil || f["unread"] != 10.0 || answered != derived && derived.Dominates(answered) {
		t.Errorf("derived as of %v; then %v", derived, f)
	}
}

// An inbox of a second device was read before the owner answered about a large channel, and is
// installed after the answer. The inbox replaces the answer, and no delta brings it again. So the
// gateway asks the owner once more.
func TestAnOlderInboxDoesNotLastInPlaceOfAnAnswer(t *testing.T) {
	g := bare()
	g.cfg.Topics = Topics{Messages: events.TopicMessages, Reads: events.TopicReads, Deliveries: events.TopicDeliveries}
	u := g.someone("ann")
	d := g.device(t, u)
	ask := crowdDelta(6, 1)
	ask.Ask = true
	g.applyDelta(u, ask)
	g.query = counted{unread: 10, upTo: "chat.messages/0/20"}
	for len(g.asks) > 0 {
		g.answerAsk(t.Context(), <-g.asks)
	}
	if f := d.last(t); f["unread"] != 10.0 {
		t.Fatalf("the owner's answer reached her device as %v", f)
	}
	c := g.loadingDevice(t, u)
	g.loads.Add(1)
	at := view.Position{0: {M: 13, R: 1}}
	g.install(c, &inbox{channels: []view.View{{Channel: "crowd", Member: true, Unread: 4}}, at: at, threadsAt: at}, true)
	if len(g.asks) == 0 {
		t.Fatal("nobody asks the owner again")
	}
	for len(g.asks) > 0 {
		g.answerAsk(t.Context(), <-g.asks)
	}
	if f := d.last(t); f["unread"] != 10.0 {
		t.Errorf("her first device is left with %v", f)
	}
}

// A user leaves a channel, comes back and leaves again before the first frame about it is written
// to their device. The fold publishes nothing about the last two changes, so the waiting frame
// stays.
func TestWhoLeftTwiceIsTold(t *testing.T) {
	g := bare()
	h, u := g.hubs.list[0], g.someone("ann")
	d := g.device(t, u)
	d.DropValues()
	delta := &events.UnreadDelta{ChannelID: []byte("general"), Member: true, Unread: 3, Stamp: events.Stamp{FoldVersion: 1, M: 5}}
	g.applyDelta(u, delta)
	reply := &events.UnreadDelta{ChannelID: []byte("general"), ThreadID: []byte("m1"), Member: true, Unread: 1, Stamp: events.Stamp{FoldVersion: 1, M: 5}}
	g.applyThread(u, reply)
	delta.Member, delta.Unread, delta.Stamp.M = false, 0, 7
	reply.Member, reply.Unread, reply.Stamp.M = false, 0, 7
	g.applyDelta(u, delta)
	g.applyThread(u, reply)
	g.admit(h, members(events.KindMembersJoined, "general", "ann"), 7)
	g.revoke(h, members(events.KindMembersLeft, "general", "ann"), 8)
	list := d.waiting(t)
	if len(list) != 2 || list[0]["member"] != false || list[1]["followed"] != false {
		t.Errorf("her device is told %v", list)
	}
}

// The record of a large channel comes while the inbox of its only member here is being read, and
// before the message that it includes. The inbox lacks that message, and nothing else will bring
// it: the inbox is read again, even if the timeline has made the user a member meanwhile.
func TestAnInboxReachesWhatItsReadingMissed(t *testing.T) {
	for _, admitted := range []bool{false, true} {
		g := bare()
		u := g.someone("ann")
		c := g.loadingDevice(t, u)
		g.loads.Add(1)
		in := &inbox{channels: []view.View{{Channel: "crowd", Member: true}}, at: view.Position{0: {M: 11}}, threadsAt: view.Position{0: {M: 11}}}
		r := crowdRecord(11)
		if err := g.takeChannel(&kgo.Record{Key: r.ChannelID, Value: events.AppendChannelRecord(nil, r)}, new(decoder)); err != nil {
			t.Fatal(err)
		}
		if admitted {
			g.admit(u.hub, members(events.KindMembersJoined, "crowd", "ann"), 10)
		}
		if after := g.install(c, in, true); len(after) != 1 || after[0] != "chat.messages/0/11" {
			t.Errorf("admitted %v: the inbox is to be read again with what %v include", admitted, after)
		}
	}
}

// The records of a large channel run ahead of the delta that ends a membership. For a client, the
// end is no older than the counts derived from the records: a client that considered it older would
// keep the channel.
func TestTheEndOfAMembershipIsNotOlderThanWhatWasDerived(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	d := g.device(t, u)
	derived := g.crowdRunsAhead(t, u, d)
	gone := crowdDelta(8, 1)
	gone.Member = false
	g.applyDelta(u, gone)
	f := d.last(t)
	end, err := events.ParseStamp(f["stamp"].(string))
	if err != nil || f["member"] != false || end != derived && derived.Dominates(end) {
		t.Errorf("derived as of %v; then %v", derived, f)
	}
}

// A channel is deleted, and then its members are removed. Their devices learn that it is gone,
// although the timeline first announces that they left: the fold ignores events after the deletion,
// so the delta is from before they left.
func TestWhoLeavesWhatIsDeletedIsTold(t *testing.T) {
	for name, again := range map[string]bool{"they are gone": false, "they are back": true} {
		g := bare()
		h, u := g.hubs.list[0], g.someone("ann")
		d := g.device(t, u)
		delta := &events.UnreadDelta{ChannelID: []byte("general"), Member: true, Unread: 3, Stamp: events.Stamp{FoldVersion: 1, M: 5}}
		reply := &events.UnreadDelta{ChannelID: []byte("general"), ThreadID: []byte("m1"), Member: true, Unread: 1, Stamp: events.Stamp{FoldVersion: 1, M: 5}}
		g.applyDelta(u, delta)
		g.applyThread(u, reply)
		g.revoke(h, members(events.KindMembersLeft, "general", "ann"), 6) // the deletion is at offset 5
		if again {
			g.admit(h, members(events.KindMembersJoined, "general", "ann"), 7)
		}
		d.DropValues()
		delta.Member, delta.Unread, delta.Stamp.M = false, 0, 6
		reply.Member, reply.Unread, reply.Stamp.M = false, 0, 6
		g.applyDelta(u, delta)
		g.applyThread(u, reply)
		list := d.waiting(t)
		if again && (len(list) != 1 || list[0]["followed"] != false) || !again && (len(list) != 2 || list[0]["member"] != false || list[1]["followed"] != false) {
			t.Errorf("%s: their device is told %v", name, list)
		}
	}
}

// A user is added to a channel and follows a thread there while their inbox is being read. The
// inbox has the thread, but not the channel. The device gets the thread once it has got the
// channel.
func TestAThreadOfAChannelThatCameMeanwhile(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	c := g.loadingDevice(t, u)
	u.conns = append(u.conns, c)
	in := &inbox{at: view.Position{0: {M: 5}}, threadsAt: view.Position{0: {M: 9}}, threads: []view.View{{Channel: "general", Thread: "m1", Member: true, Unread: 1}}}
	if after := g.install(c, in, true); after != nil {
		t.Fatal("the inbox is to be read again")
	}
	g.applyDelta(u, &events.UnreadDelta{ChannelID: []byte("general"), Member: true, Unread: 2, Stamp: events.Stamp{FoldVersion: 1, M: 7}})
	g.applyThread(u, &events.UnreadDelta{ChannelID: []byte("general"), ThreadID: []byte("m1"), Member: true, Unread: 1, Stamp: events.Stamp{FoldVersion: 1, M: 8}})
	list := c.waiting(t)
	if last := list[len(list)-1]; last["thread_id"] != "m1" || last["unread"] != 1.0 || frame2(last, "totals", "badge") != 3.0 {
		t.Errorf("their device is told %v", list)
	}
}
