package entry

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/cache/internal/packed"
	"github.com/tidemark/tidemark/events"
)

// parsePacked parses a packed field of an inbox.
func parsePacked(channel, value string) (Entry, error) {
	var d events.UnreadDelta
	if err := packed.DecodeValue([]byte(value), &d); err != nil {
		return Entry{}, fmt.Errorf("channel %q: %w", channel, err)
	}
	e := Entry{
		ChannelID: channel,
		Known:     !d.Large, Unread: d.Unread, Mentions: d.Mentions, DirectMentions: d.DirectMentions, OfflineUnread: d.OfflineUnread,
		FirstUnreadID: string(d.FirstUnread.MessageID), LastReadSeq: d.LastRead.Seq, LatestSeq: d.Latest.Seq,
		Large: d.Large, ReadEpoch: d.ReadEpoch, Stamp: d.Stamp,
		Levels: events.Levels{Level: d.Level, Until: d.Until, After: d.LevelAfter}, Muted: d.Muted,
		FirstMention: refOf(d.FirstMention), IgnoreAll: d.IgnoreAll, Flagged: d.Flagged, Filed: d.Filed, Line: refOf(d.Line), Ask: d.Ask,
		OwnLabels: texts(d.Labels),
	}
	if d.Latest.Seq > 0 {
		e.LatestAt = timeOf(d.Latest.At)
	}
	if d.TouchedAt > 0 {
		e.TouchedAt = timeOf(d.TouchedAt)
	}
	e.exceptions = events.Exceptions{ReadPos: d.ReadPos, Excluded: events.PositionsOf(d.Excluded), Mentioned: events.PositionsOf(d.Mentioned)}
	e.parsed()
	return e, nil
}

// ParsePackedChannel parses the packed record of a channel.
func ParsePackedChannel(key, id, value string) (*Channel, error) {
	var r events.ChannelRecord
	if err := packed.DecodeChannel([]byte(value), &r); err != nil {
		return nil, fmt.Errorf("redis key %q: %w", key, err)
	}
	c := &Channel{
		ChannelID: id, LatestID: string(r.Latest.MessageID), LatestSender: string(r.Latest.SenderID), LatestPreview: string(r.Latest.Preview),
		HeadSeq: r.HeadSeq, MemberCount: r.MemberCount, Labels: texts(r.Labels), Archived: r.Archived, Timeline: r.Timeline(),
	}
	if r.Latest.Seq > 0 {
		c.LatestAt = timeOf(r.Latest.At)
	}
	return c, nil
}

// PackedStamp returns the stamp of a packed record of a channel.
func PackedStamp(value string) (events.Stamp, error) {
	var r events.ChannelRecord
	err := packed.DecodeChannel([]byte(value), &r)
	return r.Stamp, err
}

func refOf(r events.Ref) Ref { return Ref{string(r.MessageID), r.Seq} }

func timeOf(at int64) time.Time { return time.UnixMilli(at).UTC() }

func texts(list [][]byte) (out []string) {
	for _, l := range list {
		out = append(out, string(l))
	}
	return out
}
