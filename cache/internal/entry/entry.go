package entry

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/cache/internal/packed"
	"github.com/tidemark/tidemark/events"
)

// Entry is a user's view of one channel that they are a member of, or of one thread that they
// follow.
type Entry struct {
	ChannelID string
	ThreadID  string // empty: the entry is the channel's

	// Known is false if Redis cannot give Unread, Mentions and DirectMentions, which are zero then:
	// the channel is large, and its record is missing, its lists do not reach back to the read
	// pointer, or the delta says Ask. It is also false if the user filed the channel and its record
	// is missing. Ask the query service.
	Known          bool
	Unread         uint32
	Mentions       uint32
	DirectMentions uint32 // how many of Mentions name the user; 0 if Stamp has FoldVersion 1

	OfflineUnread uint32
	FirstUnreadID string // also empty if unknown: in a large channel, or if it has left the index
	LastReadSeq   uint32
	LatestSeq     uint32    // 0 if there is no counted message, and in a large channel
	LatestAt      time.Time // zero if there is none
	TouchedAt     time.Time // of a thread: its last reply, or the user's last read or follow in it; zero if there is none
	Large         bool
	ReadEpoch     uint32
	Stamp         events.Stamp

	// Levels is the notification level: at the time of a Reader's answer, and as it was set in an
	// Update. Muted means that its Level is NONE. In a thread both are its channel's, and not set
	// in an Update.
	Levels events.Levels
	Muted  bool

	FirstMention Ref          // the oldest of Mentions; empty also if unknown, as FirstUnreadID
	IgnoreAll    bool         // mentions of everybody do not count for this user
	Flagged      bool         // the user flagged the channel
	Filed        events.Filed // by the user, as in the delta
	Archived     bool         // by the user or for everybody; in a thread its channel's; not set in an Update
	Line         Ref          // as the user set it: by id or by seq
	Labels       []string     // the channel's and the user's own, ascending; in an Update only OwnLabels
	OwnLabels    []string
	Ask          bool // only the query service can compute the counts, and whether Filed still holds

	exceptions events.Exceptions // only for a large channel
}

// Ref names a message, by id, by seq or by both. The zero Ref names none.
type Ref struct {
	MessageID string
	Seq       uint32
}

// Update is a message of a user's pub/sub channel: a delta that was just applied.
type Update struct {
	UserID string
	// Member is false if the user left the channel or unfollowed the thread. Only LastReadSeq,
	// ReadEpoch and Stamp of the entry are set then.
	Member bool
	Entry
}

// wireEntry is the JSON of DESIGN §8. Published deltas begin with the ids.
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

	DirectMentions uint32   `json:"direct_mentions"`
	FirstMention   wireRef  `json:"first_mention"`
	Level          string   `json:"level"`
	Until          string   `json:"until"`
	LevelAfter     string   `json:"level_after"`
	IgnoreAll      bool     `json:"ignore_mention_all"`
	Flagged        bool     `json:"flagged"`
	Line           wireRef  `json:"line"`
	Labels         []string `json:"labels"`
	Ask            bool     `json:"ask"`
	Filed          *struct {
		Keep bool   `json:"keep"`
		Pos  uint32 `json:"pos"`
	} `json:"filed"`
}

type wireRef struct {
	MessageID string `json:"message_id"`
	Seq       uint32 `json:"seq"`
}

// ParseUpdate parses a message of UnreadChannel. The counts of a large channel are not Known;
// Reader.Unread derives them.
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

// Parse parses the field of a channel in an inbox, or of a thread in it: JSON or packed.
func Parse(channel, value string) (Entry, error) {
	if packed.Is(value) {
		return parsePacked(channel, value)
	}
	if e, ok := parseOwn(value); ok {
		e.ChannelID = channel
		return e, nil
	}
	// The value differs from this version's form, for instance by members of a later one.
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
		LatestSeq: w.LatestSeq, Large: w.Large, Muted: w.Muted, ReadEpoch: w.ReadEpoch,
		DirectMentions: w.DirectMentions, FirstMention: Ref(w.FirstMention), IgnoreAll: w.IgnoreAll, Flagged: w.Flagged,
		Line: Ref(w.Line), OwnLabels: w.Labels, Ask: w.Ask,
	}
	if w.Unread != nil && !w.Large {
		e.Unread, e.Known = *w.Unread, true
	}
	if w.Filed != nil {
		e.Filed = events.Filed{Is: true, Keep: w.Filed.Keep, Pos: w.Filed.Pos}
	}
	e.exceptions.ReadPos = w.ReadPos
	var err error
	if e.Levels.Level, err = parseLevel(w.Level); err != nil {
		return e, fmt.Errorf("level: %w", err)
	}
	if e.Levels.After, err = parseLevel(w.LevelAfter); err != nil {
		return e, fmt.Errorf("level_after: %w", err)
	}
	until, err := ParseTime(w.Until)
	if err != nil {
		return e, fmt.Errorf("until: %w", err)
	}
	if !until.IsZero() {
		e.Levels.Until = until.UnixMilli()
	}
	if e.LatestAt, err = ParseTime(w.LatestAt); err != nil {
		return e, fmt.Errorf("latest_at: %w", err)
	}
	if e.TouchedAt, err = ParseTime(w.TouchedAt); err != nil {
		return e, fmt.Errorf("touched_at: %w", err)
	}
	if e.exceptions.Excluded, err = events.ParsePositions(w.Excluded); err != nil {
		return e, fmt.Errorf("excluded: %w", err)
	}
	if e.exceptions.Mentioned, err = events.ParsePositions(w.Mentioned); err != nil {
		return e, fmt.Errorf("mentioned: %w", err)
	}
	if e.Stamp, err = events.ParseStamp(w.Stamp); err != nil {
		return e, fmt.Errorf("stamp: %w", err)
	}
	e.parsed()
	return e, nil
}
