package gateway

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// ann reads a large channel on another device. An inbox brings that to this device before the delta
// comes, which then has nothing new. The gateway must not derive later counts from her exceptions
// from before the read.
func TestCountsAfterAnInboxAreNotDerivedFromBeforeIt(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	record := func(m int64, head uint32) {
		g.applyChannel(g.hubs.list[0], &events.ChannelRecord{
			ChannelID: []byte("crowd"), Large: true, HeadSeq: head, HeadPos: head, MemberCount: 1000,
			Latest: events.Head{Seq: head}, Stamp: events.Stamp{FoldVersion: 1, M: m},
		})
	}
	delta := func(m, r int64, readPos uint32) {
		g.applyDelta(u, &events.UnreadDelta{
			ChannelID: []byte("crowd"), Member: true, Large: true, ReadPos: readPos, LastRead: events.Ref{Seq: readPos},
			Stamp: events.Stamp{FoldVersion: 1, M: m, R: r},
		})
	}
	is := func(what string, unread uint32, asks int) {
		t.Helper()
		if v := u.entries["crowd"].view; v.Unread != unread || u.totals.Unread != uint64(unread) || len(g.asks) != asks {
			t.Fatalf("%s: %d unread, %d in total, %d questions; want %d, and %d questions", what, v.Unread, u.totals.Unread, len(g.asks), unread, asks)
		}
	}
	g.hubs.list[0].setMember(u, u.entryOf("crowd"), "crowd", true)
	record(50, 50)
	answered := func() { // the owner had nothing to add
		<-g.asks
		u.entries["crowd"].asking = false
	}
	answered() // without a delta nothing can be derived
	delta(50, 1, 10)
	is("derived", 40, 0)
	inbox := &inbox{
		channels: []view.View{{Channel: "crowd", Member: true, Last: view.Ref{Seq: 50}, Latest: view.Head{Ref: view.Ref{Seq: 50}}}},
		at:       view.Position{0: {M: 50, R: 8}}, threadsAt: view.Position{0: {M: 50, R: 8}},
	}
	g.install(g.loadingDevice(t, u), inbox, false)
	is("an inbox in which she has read everything", 0, 0)
	record(51, 51)
	is("a message before the delta of her read", 0, 1) // which is requested from the owner
	delta(50, 8, 50)
	record(52, 52)
	is("a message after it", 0, 1)
	answered()
	delta(52, 9, 50)
	is("the next delta", 2, 0)
}

// The owner's answer about a large channel must be as new as the record that caused the question: a
// new owner may be behind the records of the last one, and no later question would follow.
func TestAnAnswerIsAsNewAsTheRecord(t *testing.T) {
	g := bare()
	u := g.someone("ann")
	g.device(t, u)
	o := &owner{member: true}
	g.query = o
	g.hubs.list[0].setMember(u, u.entryOf("crowd"), "crowd", true)
	u.entries["crowd"].view.Channel = "crowd"
	g.applyChannel(g.hubs.list[0], &events.ChannelRecord{
		ChannelID: []byte("crowd"), Large: true, HeadSeq: 50, HeadPos: 50, MemberCount: 1000, Stamp: events.Stamp{FoldVersion: 1, M: 70},
	})
	g.answerAsk(t.Context(), <-g.asks)
	if want := []string{events.TopicMessages + "/0/69"}; !slices.Equal(o.after, want) || o.asked != 1 {
		t.Errorf("asked %d times with after %v, want %v", o.asked, o.after, want)
	}
}
