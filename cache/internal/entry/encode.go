package entry

import (
	"fmt"
	"strconv"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/jsonw"
)

// AppendValue appends the JSON of one channel in an inbox (DESIGN §8). A published delta has the
// same members after its ids. A large channel leaves out the members that readers derive. A thread
// has touched_at in addition; its members large and muted and those for derivation are zero,
// because they belong to its channel. The members of appendSaid are left out if they are empty.
func AppendValue(b []byte, d *events.UnreadDelta) []byte {
	b = append(b, '{')
	if !d.Large {
		b = AppendUint(append(b, `"unread":`...), d.Unread)
		b = append(b, ',')
	}
	b = AppendUint(append(b, `"mentions":`...), d.Mentions)
	b = AppendUint(append(b, `,"offline_unread":`...), d.OfflineUnread)
	if !d.Large {
		b = jsonw.AppendString(append(b, `,"first_unread_id":`...), d.FirstUnread.MessageID)
	}
	b = AppendUint(append(b, `,"last_read_seq":`...), d.LastRead.Seq)
	b = AppendUint(append(b, `,"read_pos":`...), d.ReadPos)
	b = events.AppendPositions(append(b, `,"excluded":"`...), d.Excluded)
	b = events.AppendPositions(append(b, `","mentioned":"`...), d.Mentioned)
	b = append(b, '"')
	if !d.Large {
		b = AppendUint(append(b, `,"latest_seq":`...), d.Latest.Seq)
		b = append(b, `,"latest_at":"`...)
		if d.Latest.Seq > 0 {
			b = jsonw.AppendTime(b, d.Latest.At)
		}
		b = append(b, '"')
	}
	b = strconv.AppendBool(append(b, `,"large":`...), d.Large)
	b = strconv.AppendBool(append(b, `,"muted":`...), d.Muted)
	b = AppendUint(append(b, `,"read_epoch":`...), d.ReadEpoch)
	b = appendSettings(b, d)
	if len(d.ThreadID) > 0 {
		b = append(b, `,"touched_at":"`...)
		if d.TouchedAt > 0 {
			b = jsonw.AppendTime(b, d.TouchedAt)
		}
		b = append(b, '"')
	}
	b = d.Stamp.Append(append(b, `,"stamp":"`...))
	return append(b, `"}`...)
}

// appendSettings appends the members that few deltas have. A missing member is 0, false, ALL or
// empty.
func appendSettings(b []byte, d *events.UnreadDelta) []byte {
	if d.DirectMentions > 0 {
		b = AppendUint(append(b, `,"direct_mentions":`...), d.DirectMentions)
	}
	b = appendRef(b, `,"first_mention":`, &d.FirstMention)
	if level := d.ChosenLevel(); level != events.LevelAll {
		b = append(append(append(b, `,"level":"`...), events.LevelNames[level]...), '"')
	}
	if d.Until > 0 {
		b = jsonw.AppendTime(append(b, `,"until":"`...), d.Until)
		b = append(append(append(b, `","level_after":"`...), events.LevelNames[d.LevelAfter]...), '"')
	}
	b = appendTrue(b, `,"ignore_mention_all":true`, d.IgnoreAll)
	b = appendTrue(b, `,"flagged":true`, d.Flagged)
	if d.Filed.Is {
		b = strconv.AppendBool(append(b, `,"filed":{"keep":`...), d.Filed.Keep)
		b = append(AppendUint(append(b, `,"pos":`...), d.Filed.Pos), '}')
	}
	b = appendRef(b, `,"line":`, &d.Line)
	if len(d.Labels) > 0 {
		b = AppendLabels(append(b, `,"labels":`...), d.Labels)
	}
	return appendTrue(b, `,"ask":true`, d.Ask)
}

// parseLevel parses the name of a level; the empty name is ALL.
func parseLevel(name string) (events.Level, error) {
	if name == "" {
		return events.LevelAll, nil
	}
	for level, is := range events.LevelNames {
		if is == name {
			return events.Level(level), nil //nolint:gosec // there are three levels
		}
	}
	return 0, fmt.Errorf("%.60q is not a level", name)
}

// appendRef appends a member that names a message, unless the reference is empty.
func appendRef(b []byte, key string, r *events.Ref) []byte {
	if len(r.MessageID) == 0 && r.Seq == 0 {
		return b
	}
	b = jsonw.AppendString(append(append(b, key...), `{"message_id":`...), r.MessageID)
	return append(AppendUint(append(b, `,"seq":`...), r.Seq), '}')
}

func appendTrue(b []byte, member string, is bool) []byte {
	if is {
		b = append(b, member...)
	}
	return b
}

// AppendLabels appends labels as a JSON array.
func AppendLabels(b []byte, labels [][]byte) []byte {
	b = append(b, '[')
	for i, label := range labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonw.AppendString(b, label)
	}
	return append(b, ']')
}

// AppendUint appends a number.
func AppendUint(b []byte, v uint32) []byte { return strconv.AppendUint(b, uint64(v), 10) }

// AppendUpdate appends the message that is published for an applied delta: its ids, whether the
// user is a member, and the members of AppendValue.
func AppendUpdate(b []byte, d *events.UnreadDelta) []byte {
	b = appendIDs(b, d)
	b = strconv.AppendBool(append(b, `"member":`...), d.Member)
	at := len(b)
	b = AppendValue(b, d)
	b[at] = ',' // in place of its opening brace
	return b
}

// AppendChange appends the message that is published for a moved read pointer. Id and time are
// empty if the pointer is gone.
func AppendChange(b []byte, d *events.UnreadDelta) []byte {
	b = appendIDs(b, d)
	b = jsonw.AppendString(append(b, `"last_read_id":`...), d.LastRead.MessageID)
	b = append(b, `,"last_read_at":"`...)
	if d.LastRead.Seq > 0 {
		b = jsonw.AppendTime(b, d.LastReadAt)
	}
	b = jsonw.AppendString(append(b, `","instance_id":`...), d.InstanceID)
	return append(b, '}')
}

func appendIDs(b []byte, d *events.UnreadDelta) []byte {
	b = jsonw.AppendString(append(b, `{"user_id":`...), d.UserID)
	b = jsonw.AppendString(append(b, `,"channel_id":`...), d.ChannelID)
	if len(d.ThreadID) > 0 {
		b = jsonw.AppendString(append(b, `,"thread_id":`...), d.ThreadID)
	}
	return append(b, ',')
}
