package projections

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestAFullChannelTakesNoMore: the message after the last that a seq can number is refused. With its seq 0 the channel would
// begin anew, under all that its members have read.
func TestAFullChannelTakesNoMore(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	message := func(e events.Message) Outcome {
		e.ChannelID, e.OccurredAt = []byte("c"), 1000
		return p.FoldMessage(&e, p.pos[events.Messages], 1000)
	}
	post := func(id string) Outcome {
		return message(events.Message{Kind: events.KindMessagePosted, MessageID: []byte(id), SenderID: []byte("b")})
	}
	message(events.Message{Kind: events.KindMembersJoined, IDs: [][]byte{[]byte("a"), []byte("b")}})
	c := p.chans.at(p.channelOf([]byte("c")))
	c.headSeq, c.headPos = MaxSeq-2, MaxSeq-2 // all of it posted before they came
	for _, u := range []string{"a", "b"} {
		p.rows.at(p.rowOf(p.channelOf([]byte("c")), p.userOf([]byte(u)))).base = c.headSeq
	}
	post("one before")
	if o := post("last"); o != OutcomeApplied {
		t.Fatalf("the last message: outcome %d", o)
	}
	for range 2 {
		if o := post("beyond"); o != OutcomeChannelFull {
			t.Fatalf("one message more: outcome %d, want %d", o, OutcomeChannelFull)
		}
		if o := post("last"); o != OutcomeDuplicate {
			t.Fatalf("the last message again: outcome %d", o)
		}
	}
	want := func(what string, unread, seq uint32) {
		t.Helper()
		v, _ := p.View("a", "c")
		if v.Unread != unread || v.LastRead.Seq != seq || v.Latest.Seq != MaxSeq || v.Latest.Pos != MaxSeq {
			t.Errorf("%s: %+v", what, v)
		}
	}
	want("before it is read", 2, 0)
	read := events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 1000, Target: events.TargetSeq, Seq: MaxSeq}
	p.FoldRead(&read, 0, 1000)
	want("read", 0, MaxSeq)
	mark := events.Read{Kind: events.KindMarkedUnread, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 1000, MessageID: []byte("last")}
	p.FoldRead(&mark, 1, 1000)
	want("marked", 1, MaxSeq-1)
	read.Kind, read.IDs = events.KindMessagesRead, [][]byte{[]byte("last")}
	p.FoldRead(&read, 2, 1000)
	want("read singly", 0, MaxSeq-1)
	if o := message(events.Message{Kind: events.KindMessageDeleted, MessageID: []byte("last")}); o != OutcomeApplied {
		t.Errorf("deleting the last message: outcome %d", o)
	}
	if v, _ := p.View("a", "c"); v.Unread != 0 || v.Latest.Seq != MaxSeq-1 {
		t.Errorf("deleted: %+v", v)
	}
}
