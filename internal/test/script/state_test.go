package script_test

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// TestFormatState: one example for every part of the output.
func TestFormatState(t *testing.T) {
	m := func(n uint32) projections.Ref { return projections.Ref{MessageID: "m" + string(rune('0'+n)), Seq: n} }
	view := projections.View{
		UserID: "a", ChannelID: "d", Unread: 2, Mentions: 1, OfflineUnread: 1, FirstUnread: projections.Ref{Seq: 2}, LastRead: m(1),
		LastReadAt: script.Start + 61_000, Large: true, Muted: true, ReadEpoch: 3, ReadPos: 1, Excluded: []uint32{3, 4}, Mentioned: []uint32{5},
	}
	explained := projections.Explanation{
		Unread: 2, MessageIDs: []string{"m2"}, Unnamed: 1, More: true, Pointer: m(1), PointerAt: script.Start,
		Excluded: projections.Excluded{BeforeJoin: 1, Deleted: 2, Silent: 3, Thread: 4, Own: 5, ReadSingly: 6},
		Event:    projections.Event{Input: events.Reads, Offset: 7},
	}
	channel := projections.ChannelView{
		ChannelID: "c", HeadSeq: 1, HeadPos: 1, MemberCount: 2, Large: true,
		Latest: projections.Head{MessageID: "m1", Seq: 1, Pos: 1, At: script.Start, SenderID: "b", Preview: "hi"},
	}
	delta := events.UnreadDelta{
		UserID: []byte("a"), ChannelID: []byte("c"), Member: true, Large: true, Unread: 9, ReadEpoch: 1, ReadPos: 4, InstanceID: []byte("phone"),
	}
	inbox := []projections.InboxEntry{
		{ChannelID: []byte("c"), Unread: 2, Mentions: 1}, {ChannelID: []byte("d"), Unread: 5, Muted: true},
	}
	for _, tt := range []struct{ got, want string }{
		{script.FormatView(&view), "a in #d: 2 unread, 1 mention (1 queued) from seq 2 | read to m1 at 0:01:01 | epoch 3 | muted | no member | large: read position 1 excluded 3 4 mentioned 5"},
		{script.FormatExplanation("a", "c", &explained), "a: 2 unread m2 and more and 1 without id | not counted: 1 from before joining, 2 deleted, 3 silent, 4 in threads, 5 own, 6 read singly | read to m1 at 0:00:00 by chat.reads/7"},
		{script.FormatChannel(&channel), `#c: 1 message, 1 count, 2 members | latest m1 by b "hi" at 0:00:00 | large`},
		{script.FormatDelta(&delta), "a: | read nothing | large: read position 4 | from phone"},
		{script.FormatInbox("a", inbox), "a: #c 2 unread, 1 mention | #d 5 unread (muted) | total 2 unread, 1 mention"},
		{script.FormatStamp(events.Stamp{FoldVersion: 1, M: 2, R: 3, D: 4}), "1.2.3.4"},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
}
