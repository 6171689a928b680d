package projections

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// TestAFullChannelTakesNoMore: a channel refuses the message after the last seq. With seq 0 that
// message would restart the channel below its members' pointers.
func TestAFullChannelTakesNoMore(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	message := func(e events.Message) state.Outcome {
		e.ChannelID, e.OccurredAt = []byte("c"), 1000
		return p.rules.FoldMessage(&e, p.rules.Positions[events.Messages], 1000)
	}
	post := func(id string) state.Outcome {
		return message(events.Message{Kind: events.KindMessagePosted, MessageID: []byte(id), SenderID: []byte("b")})
	}
	message(events.Message{Kind: events.KindMembersJoined, IDs: [][]byte{[]byte("a"), []byte("b")}})
	c := p.rules.Channels.At(p.rules.ChannelOf([]byte("c")))
	c.HeadSeq, c.HeadPos = state.MaxSeq-2, state.MaxSeq-2 // posted before the members joined
	for _, u := range []string{"a", "b"} {
		p.rules.Rows.At(p.rules.RowOf(p.rules.ChannelOf([]byte("c")), p.rules.UserOf([]byte(u)))).Baseline = c.HeadSeq
	}
	post("one before")
	if o := post("last"); o != state.OutcomeApplied {
		t.Fatalf("the last message: outcome %d", o)
	}
	for range 2 {
		if o := post("beyond"); o != state.OutcomeChannelFull {
			t.Fatalf("one message more: outcome %d, want %d", o, state.OutcomeChannelFull)
		}
		if o := post("last"); o != state.OutcomeDuplicate {
			t.Fatalf("the last message again: outcome %d", o)
		}
	}
	want := func(what string, unread, seq uint32) {
		t.Helper()
		v, _ := p.View("a", "c")
		if v.Unread != unread || v.LastRead.Seq != seq || v.Latest.Seq != state.MaxSeq || v.Latest.Pos != state.MaxSeq {
			t.Errorf("%s: %+v", what, v)
		}
	}
	want("before it is read", 2, 0)
	read := events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 1000, Target: events.TargetSeq, Seq: state.MaxSeq}
	p.rules.FoldRead(&read, 0, 1000)
	want("read", 0, state.MaxSeq)
	mark := events.Read{Kind: events.KindMarkedUnread, ChannelID: []byte("c"), UserID: []byte("a"), OccurredAt: 1000, MessageID: []byte("last")}
	p.rules.FoldRead(&mark, 1, 1000)
	want("marked", 1, state.MaxSeq-1)
	read.Kind, read.IDs = events.KindMessagesRead, [][]byte{[]byte("last")}
	p.rules.FoldRead(&read, 2, 1000)
	want("read singly", 0, state.MaxSeq-1)
	if o := message(events.Message{Kind: events.KindMessageDeleted, MessageID: []byte("last")}); o != state.OutcomeApplied {
		t.Errorf("deleting the last message: outcome %d", o)
	}
	if v, _ := p.View("a", "c"); v.Unread != 0 || v.Latest.Seq != state.MaxSeq-1 {
		t.Errorf("deleted: %+v", v)
	}
}
