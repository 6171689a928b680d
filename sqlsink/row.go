package sqlsink

import "github.com/tidemark/tidemark/events"

// rowState is the effect of a record on the row of its key.
type rowState uint8

const (
	stored  rowState = iota
	removed          // with the stamp of the delta that removes it
	erased           // by a tombstone, which has no stamp
)

// names of rowState in the temporary tables.
var stateNames = [...]string{stored: "s", removed: "r", erased: "e"}

func (c *copyText) state(s rowState) { c.b = append(append(c.b, stateNames[s]...), '\t') }

// stateOf returns the effect of d on its row. An empty delta of a user with a record on chat.reads
// is from an erased user, or equivalent to one, and removes the row. The row of a user who left
// without having read anything stays, with member false.
func stateOf(d *events.UnreadDelta) rowState {
	if d.Member || d.Stamp.R == 0 || d.LastRead.Seq != 0 || d.ReadEpoch > 1 || d.OfflineUnread != 0 ||
		d.ChosenLevel() != events.LevelAll || d.Until != 0 || d.IgnoreAll || d.Flagged || d.Filed.Is ||
		d.Line.Seq != 0 || len(d.Line.MessageID) > 0 || len(d.Labels) > 0 {
		return stored
	}
	return removed
}

// unreadColumns are the columns of the temporary table of deltas, in the order of appendUnread.
const unreadColumns = `state text, user_id text, channel_id text, thread_id text, m bigint, r bigint, d bigint,
	member boolean, unread bigint, mentions bigint, direct_mentions bigint, offline_unread bigint,
	first_unread_id text, first_unread_seq bigint, level text, level_after text, until timestamptz,
	ignore_mention_all boolean, flagged boolean, filed_keep boolean, filed_pos bigint, labels text[],
	read_epoch bigint, large boolean, ask boolean, read_pos bigint, excluded int8multirange, mentioned int8multirange,
	last_read_id text, last_read_seq bigint, last_read_at timestamptz`

// appendUnread appends the row of a delta.
func (c *copyText) appendUnread(d *events.UnreadDelta, s rowState) {
	c.state(s)
	c.text(d.UserID)
	c.text(d.ChannelID)
	c.text(d.ThreadID)
	c.int(d.Stamp.M)
	c.int(d.Stamp.R)
	c.int(d.Stamp.D)
	c.bool(d.Member)
	if d.Large {
		c.null()
	} else {
		c.uint(d.Unread)
	}
	c.uint(d.Mentions)
	c.uint(d.DirectMentions)
	c.uint(d.OfflineUnread)
	c.id(d.FirstUnread.MessageID)
	c.seq(d.FirstUnread.Seq)
	c.b = append(append(c.b, events.LevelNames[d.ChosenLevel()]...), '\t')
	c.b = append(append(c.b, events.LevelNames[d.LevelAfter]...), '\t')
	c.time(d.Until, d.Until > 0)
	c.bool(d.IgnoreAll)
	c.bool(d.Flagged)
	if d.Filed.Is {
		c.bool(d.Filed.Keep)
		c.uint(d.Filed.Pos)
	} else {
		c.null()
		c.null()
	}
	c.texts(d.Labels)
	c.uint(d.ReadEpoch)
	c.bool(d.Large)
	c.bool(d.Ask)
	c.uint(d.ReadPos)
	c.positions(d.Excluded)
	c.positions(d.Mentioned)
	c.id(d.LastRead.MessageID)
	c.uint(d.LastRead.Seq)
	// A thread that was read with its channel has no time of reading.
	c.time(d.LastReadAt, d.LastRead.Seq > 0 && (d.LastReadAt != 0 || len(d.ThreadID) == 0))
	c.end()
}

// channelColumns are the columns of the temporary table of channels.
const channelColumns = `state text, channel_id text, m bigint, head_seq bigint, head_pos bigint, latest_id text, latest_at timestamptz, latest_sender text,
	member_count bigint, large boolean, archived boolean, labels text[], holes int8multirange, alls int8multirange,
	purged_pos bigint, holes_floor bigint, alls_floor bigint`

// appendChannel appends the row of a channel's record.
func (c *copyText) appendChannel(r *events.ChannelRecord, s rowState) {
	c.state(s)
	c.text(r.ChannelID)
	c.int(r.Stamp.M)
	c.uint(r.HeadSeq)
	c.uint(r.HeadPos)
	c.id(r.Latest.MessageID)
	c.time(r.Latest.At, r.Latest.Seq > 0)
	c.id(r.Latest.SenderID)
	c.uint(r.MemberCount)
	c.bool(r.Large)
	c.bool(r.Archived)
	c.texts(r.Labels)
	c.positions(r.Holes)
	c.positions(r.Alls)
	c.uint(r.PurgedPos)
	c.uint(r.HolesFloor)
	c.uint(r.AllsFloor)
	c.end()
}

// receiptColumns are the columns of the temporary table of receipts.
const receiptColumns = `channel_id text, user_id text, up_to_seq bigint, message_id text, read_at timestamptz, delivered_at timestamptz`

// appendReceipt appends the row of one receipt.
func (c *copyText) appendReceipt(channel []byte, r *events.Receipt, read bool) {
	c.text(channel)
	c.text(r.UserID)
	c.uint(r.Seq)
	c.id(r.MessageID)
	c.time(r.At, read)
	c.time(r.At, !read)
	c.end()
}
