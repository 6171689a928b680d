package script_test

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

func TestFormatThreads(t *testing.T) {
	view := projections.ThreadView{
		UserID: "a", ChannelID: "d", ThreadID: "m1", Unread: 2, Mentions: 1, FirstUnread: projections.Ref{Seq: 2},
		LastRead: projections.Ref{MessageID: "m1", Seq: 1}, LastReadAt: script.Start + 61_000,
		LastReply: projections.Head{MessageID: "r3", Seq: 4}, Muted: true, ReadEpoch: 3,
	}
	quiet := projections.ThreadView{UserID: "a", ChannelID: "c", ThreadID: "m2", Member: true, Following: true, ReadEpoch: 1, Unread: 4}
	delta := events.UnreadDelta{UserID: []byte("a"), ChannelID: []byte("d"), ThreadID: []byte("m1"), Unread: 9, ReadEpoch: 1, Member: true}
	for _, tt := range []struct{ got, want string }{
		{script.FormatThread(&view), "a in #d in thread m1: 2 unread, 1 mention from seq 2 | read to m1 at 0:01:01 | last reply r3 | epoch 3 | muted | not followed | no member"},
		{script.FormatThread(&quiet), "a in thread m2: 4 unread | read nothing | no reply"},
		{script.FormatThreads("a", []projections.ThreadView{view, quiet}), "a: m1 in #d 2 unread, 1 mention (muted) | m2 4 unread | total in threads 4 unread"},
		{script.FormatDelta(&delta), "a in #d in thread m1: 9 unread | read nothing"},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
}
