package cache

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/events"
)

// Entry is what a user sees of one channel that he is a member of, or of one thread that he follows in it.
type Entry struct {
	ChannelID string
	ThreadID  string // empty: the entry is the channel's

	// Known is false if Redis cannot give Unread and Mentions: the channel is large and its record is missing, or the
	// exceptions reach back further than what is listed. Ask the query service; until then both are zero and mean nothing.
	Known    bool
	Unread   uint32
	Mentions uint32

	OfflineUnread uint32
	FirstUnreadID string // empty also where it is not known: in a large channel, and once it has left the index
	LastReadSeq   uint32
	LatestSeq     uint32    // 0 if there is no counted message; of a large channel not known, and 0
	LatestAt      time.Time // zero if there is none
	TouchedAt     time.Time // of a thread: its last reply, or the user's last read or follow in it; zero if there is none
	Large, Muted  bool      // of a thread: Muted is what its channel is, and in an Update always false
	ReadEpoch     uint32
	Stamp         events.Stamp

	readPos             uint32
	excluded, mentioned runs
}

// settle fills in what the channel's record says, nil if there is none.
func (e *Entry) settle(c *Channel) {
	if !e.Large || c == nil {
		return
	}
	e.LatestAt = c.LatestAt
	e.Unread, e.Mentions, e.Known = c.derive(e.readPos, e.excluded, e.mentioned)
}

// Update is a message of the pub/sub channel of a user: a delta that was just applied.
type Update struct {
	UserID string
	// Member is false where the channel, or the thread, is none of the user's any more: he left, or unfollowed it. The
	// entry then says no more than LastReadSeq, ReadEpoch and Stamp.
	Member bool
	Entry
}

// wireEntry is the JSON of DESIGN §8 and, in published deltas, the ids before it.
type wireEntry struct {
	UserID        string  `json:"user_id"`
	ChannelID     string  `json:"channel_id"`
	ThreadID      string  `json:"thread_id"`
	Member        bool    `json:"member"`
	Unread        *uint32 `json:"unread"`
	Mentions      uint32  `json:"mentions"`
	OfflineUnread uint32  `json:"offline_unread"`
	FirstUnreadID string  `json:"first_unread_id"`
	LastReadSeq   uint32  `json:"last_read_seq"`
	ReadPos       uint32  `json:"read_pos"`
	Excluded      string  `json:"excluded"`
	Mentioned     string  `json:"mentioned"`
	LatestSeq     uint32  `json:"latest_seq"`
	LatestAt      string  `json:"latest_at"`
	Large         bool    `json:"large"`
	Muted         bool    `json:"muted"`
	ReadEpoch     uint32  `json:"read_epoch"`
	TouchedAt     string  `json:"touched_at"`
	Stamp         string  `json:"stamp"`
}

// ParseUpdate reads a message of UnreadChannel. In a large channel the counts are not Known; Reader.Unread derives them.
func ParseUpdate(payload string) (Update, error) {
	var w wireEntry
	if err := json.Unmarshal([]byte(payload), &w); err != nil {
		return Update{}, fmt.Errorf("published delta: %w", err)
	}
	e, err := w.entry()
	if err != nil {
		return Update{}, fmt.Errorf("published delta of channel %q: %w", w.ChannelID, err)
	}
	e.ChannelID, e.ThreadID = w.ChannelID, w.ThreadID
	return Update{UserID: w.UserID, Member: w.Member, Entry: e}, nil
}

// parseEntry reads a field of an inbox.
func parseEntry(channel, value string) (Entry, error) {
	if e, ok := parseOwn(value); ok {
		e.ChannelID = channel
		return e, nil
	}
	// Other than what this version writes, for instance with keys of a later one.
	var w wireEntry
	if err := json.Unmarshal([]byte(value), &w); err != nil {
		return Entry{}, fmt.Errorf("channel %q: %w", channel, err)
	}
	e, err := w.entry()
	if err != nil {
		return Entry{}, fmt.Errorf("channel %q: %w", channel, err)
	}
	e.ChannelID = channel
	return e, nil
}

func (w *wireEntry) entry() (Entry, error) {
	e := Entry{
		Mentions: w.Mentions, OfflineUnread: w.OfflineUnread, FirstUnreadID: w.FirstUnreadID, LastReadSeq: w.LastReadSeq,
		LatestSeq: w.LatestSeq, Large: w.Large, Muted: w.Muted, ReadEpoch: w.ReadEpoch, readPos: w.ReadPos,
	}
	if w.Unread != nil && !w.Large {
		e.Unread, e.Known = *w.Unread, true
	}
	var err error
	if e.LatestAt, err = parseTime(w.LatestAt); err != nil {
		return e, fmt.Errorf("latest_at: %w", err)
	}
	if e.TouchedAt, err = parseTime(w.TouchedAt); err != nil {
		return e, fmt.Errorf("touched_at: %w", err)
	}
	if e.excluded, err = parsePositions(w.Excluded); err != nil {
		return e, fmt.Errorf("excluded: %w", err)
	}
	if e.mentioned, err = parsePositions(w.Mentioned); err != nil {
		return e, fmt.Errorf("mentioned: %w", err)
	}
	if e.Stamp, err = parseStamp(w.Stamp); err != nil {
		return e, fmt.Errorf("stamp: %w", err)
	}
	if !e.Known {
		e.Mentions = 0
	}
	return e, nil
}

// parseStamp reads fold_version.m.r.d.
func parseStamp(s string) (events.Stamp, error) {
	var n [4]int64
	rest := s
	for i := range n {
		part, after, more := strings.Cut(rest, ".")
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil || v < 0 || more != (i < 3) || i == 0 && v > 1<<32-1 {
			return events.Stamp{}, fmt.Errorf("%q is not fold_version.m.r.d", shorten(s))
		}
		n[i], rest = v, after
	}
	return events.Stamp{FoldVersion: uint32(n[0]), M: n[1], R: n[2], D: n[3]}, nil
}
