package entry

import "github.com/tidemark/tidemark/events"

// t0 is 2026-01-02T03:04:05.678Z.
const t0 = 1767323045678

// stampOf returns a stamp of fold version 1 without deliveries.
func stampOf(m, r int64) events.Stamp { return events.Stamp{FoldVersion: 1, M: m, R: r} }

// small returns a delta of a member of a small channel, whose counts equal its stamp.
func small(user, channel string, m, r int64) *events.UnreadDelta {
	return &events.UnreadDelta{
		UserID: []byte(user), ChannelID: []byte(channel), Member: true, Unread: uint32(m), Mentions: 1, ReadEpoch: 1,
		FirstUnread: events.Ref{MessageID: []byte("m1"), Seq: 1},
		Latest:      events.Head{MessageID: []byte("m9"), Seq: uint32(m), Pos: uint32(m), At: t0 + m, SenderID: []byte("s"), Preview: []byte("hi")},
		Stamp:       stampOf(m, r),
	}
}
