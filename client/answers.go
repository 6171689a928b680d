package client

import "time"

// Level says how a channel enters the badge: with what is unread, with mentions, or not at all.
type Level string

// The levels.
const (
	All      Level = "ALL"
	Mentions Level = "MENTIONS"
	None     Level = "NONE"
)

// ChannelUnread is what one user sees of one channel. first_unread, last_read and latest are
// unset where there is none.
type ChannelUnread struct {
	ChannelID string `json:"channel_id"`
	// Filed by the user, or by the channel for everybody: in no total.
	Archived bool `json:"archived"`
	// Set only as the answer of GetUnread.
	AsOf []string `json:"as_of"`
	// Those of mentions that name the user.
	DirectMentions int       `json:"direct_mentions"`
	EvaluatedAt    time.Time `json:"evaluated_at,omitzero"`
	// The user filed the channel, and no news brought it back.
	Filed *Filed `json:"filed,omitempty"`
	// The lowest of mentions.
	FirstMention *MessageRef `json:"first_mention,omitempty"`
	FirstUnread  *MessageRef `json:"first_unread,omitempty"`
	// Unread by the user's word, whatever unread is.
	Flagged bool `json:"flagged"`
	// mentions are direct_mentions.
	IgnoreMentionAll bool `json:"ignore_mention_all"`
	// The channel's and the user's own, in ascending order.
	Labels   []string  `json:"labels"`
	LastRead *LastRead `json:"last_read,omitempty"`
	Latest   *Latest   `json:"latest,omitempty"`
	// How the channel enters the badge, at evaluated_at.
	Level      Level `json:"level"`
	LevelAfter Level `json:"level_after"`
	// A place to come back to; no count depends on it.
	Line     *MessageRef `json:"line,omitempty"`
	Member   bool        `json:"member"`
	Mentions int         `json:"mentions"`
	// level is NONE.
	Muted         bool `json:"muted"`
	OfflineUnread int  `json:"offline_unread"`
	// The user's own, in ascending order.
	OwnLabels []string `json:"own_labels"`
	// States which marks the counts include; to be sent back in reads (0 = not stated there).
	ReadEpoch int `json:"read_epoch"`
	Unread    int `json:"unread"`
	// When level_after holds; unset: level is for good.
	Until time.Time `json:"until,omitzero"`
	// Stamp says how far the state was folded. Only a Device has it.
	Stamp string `json:"stamp,omitempty"`
}

// ThreadUnread is what one user sees of one thread. first_unread, last_read and last_reply are
// unset where there is none.
type ThreadUnread struct {
	ChannelID string `json:"channel_id"`
	ThreadID  string `json:"thread_id"`
	// Of the channel: an archived channel's threads are left out of totals.
	Archived bool `json:"archived"`
	// Those of mentions that name the user.
	DirectMentions int `json:"direct_mentions"`
	// The lowest of mentions.
	FirstMention *MessageRef `json:"first_mention,omitempty"`
	FirstUnread  *MessageRef `json:"first_unread,omitempty"`
	Following    bool        `json:"following"`
	LastRead     *LastRead   `json:"last_read,omitempty"`
	LastReply    *Latest     `json:"last_reply,omitempty"`
	// Of the channel, as in ChannelUnread.
	Level      Level `json:"level"`
	LevelAfter Level `json:"level_after"`
	Mentions   int   `json:"mentions"`
	// Of the channel: a muted channel's threads are left out of totals.
	Muted bool `json:"muted"`
	// Of the thread's own marks; to be sent back in reads with its thread_id.
	ReadEpoch int       `json:"read_epoch"`
	Unread    int       `json:"unread"`
	Until     time.Time `json:"until,omitzero"`
	// Stamp says how far the state was folded. Only a Device has it.
	Stamp string `json:"stamp,omitempty"`
}

// MessageRef names a message. A seq without an id: the id has left the index.
type MessageRef struct {
	MessageID string `json:"message_id"`
	Seq       int    `json:"seq"`
}

// LastRead is where a user's pointer stands and when it was put there.
type LastRead struct {
	MessageID string    `json:"message_id"`
	At        time.Time `json:"at,omitzero"`
	Seq       int       `json:"seq"`
}

// Latest is the newest live counted message of a channel.
type Latest struct {
	MessageID string    `json:"message_id"`
	At        time.Time `json:"at,omitzero"`
	Preview   string    `json:"preview"`
	SenderID  string    `json:"sender_id"`
	Seq       int       `json:"seq"`
}

// Filed says how the user filed a channel.
type Filed struct {
	// No news brings it back.
	Keep bool `json:"keep"`
}

// Totals sum the channels that a user is a member of, that are not archived and whose level is
// not NONE, and the listed threads of these.
type Totals struct {
	// What is archived, muted or not.
	Archived ArchivedTotals `json:"archived"`
	// Unread of the channels whose level is ALL, mentions of those whose level is MENTIONS, 1
	// instead of 0 for one that is flagged; and unread or mentions of their threads.
	Badge int `json:"badge"`
	// Channels with a flag that are not archived, muted ones too.
	Flagged        int `json:"flagged"`
	Mentions       int `json:"mentions"`
	ThreadMentions int `json:"thread_mentions"`
	ThreadUnread   int `json:"thread_unread"`
	Unread         int `json:"unread"`
	// Channels with unread > 0 or a flag.
	UnreadChannels int `json:"unread_channels"`
	// Threads with unread > 0.
	UnreadThreads int `json:"unread_threads"`
}

// ArchivedTotals sum the archived channels.
type ArchivedTotals struct {
	Mentions int `json:"mentions"`
	// Channels with unread > 0 or a flag.
	UnreadChannels int `json:"unread_channels"`
}

// InboxPage is a page of a user's channels.
type InboxPage struct {
	AsOf        []string        `json:"as_of"`
	Channels    []ChannelUnread `json:"channels"`
	EvaluatedAt time.Time       `json:"evaluated_at,omitzero"`
	// Empty: this was the last page.
	NextPageToken string `json:"next_page_token"`
	Totals        Totals `json:"totals"`
	// Totals of the channels that have a label, for each label. A channel counts under each of its
	// labels.
	TotalsByLabel map[string]Totals `json:"totals_by_label"`
}

// ThreadsPage lists threads while their last reply, or the user's last read or follow in them,
// is at most 30 days old. Totals are those of GetInbox, for threads alone.
type ThreadsPage struct {
	AsOf        []string  `json:"as_of"`
	EvaluatedAt time.Time `json:"evaluated_at,omitzero"`
	// Empty: this was the last page.
	NextPageToken string         `json:"next_page_token"`
	Threads       []ThreadUnread `json:"threads"`
	Totals        Totals         `json:"totals"`
}

// Explanation names the messages behind a number.
type Explanation struct {
	AsOf     []string `json:"as_of"`
	Excluded Excluded `json:"excluded"`
	// The messages that are counted and have an id, oldest first, at most 1,000.
	MessageIDs []string `json:"message_ids"`
	// There are more than message_ids lists.
	More bool `json:"more"`
	// Unset while nothing was read.
	Pointer *Pointer `json:"pointer,omitempty"`
	// How many of the counted messages have no id: seeded, or older than the index.
	Unnamed int `json:"unnamed"`
	Unread  int `json:"unread"`
}

// Excluded counts messages above the pointer that do not count, each under one reason.
type Excluded struct {
	BeforeJoin int `json:"before_join"`
	Deleted    int `json:"deleted"`
	// By the user, or from them.
	Hidden     int `json:"hidden"`
	Own        int `json:"own"`
	ReadSingly int `json:"read_singly"`
	Silent     int `json:"silent"`
	Thread     int `json:"thread"`
}

// Pointer is where a user stands and which record put them there.
type Pointer struct {
	MessageID string    `json:"message_id"`
	At        time.Time `json:"at,omitzero"`
	// "topic/partition/offset".
	Event string `json:"event"`
	Seq   int    `json:"seq"`
}

// Channel is what is known of a channel, whoever asks.
type Channel struct {
	ChannelID string `json:"channel_id"`
	// Filed for everybody.
	Archived bool     `json:"archived"`
	AsOf     []string `json:"as_of"`
	HeadPos  int      `json:"head_pos"`
	HeadSeq  int      `json:"head_seq"`
	// The channel's own, in ascending order.
	Labels      []string `json:"labels"`
	Large       bool     `json:"large"`
	Latest      *Latest  `json:"latest,omitempty"`
	MemberCount int      `json:"member_count"`
}

// ReadersPage lists all members in the order in which they first joined, those who have read
// nothing too.
type ReadersPage struct {
	AsOf []string `json:"as_of"`
	// Empty: this was the last page.
	NextPageToken string   `json:"next_page_token"`
	Readers       []Reader `json:"readers"`
}

// Reader is how far a member has read for others to see. seq 0: nowhere, and at is unset; a
// seq without an id: the id has left the index.
type Reader struct {
	MessageID string    `json:"message_id"`
	UserID    string    `json:"user_id"`
	At        time.Time `json:"at,omitzero"`
	Seq       int       `json:"seq"`
}

// Receipts says who received and who read a message. Its counts and status are over all
// recipients, on every page: the members when it was posted, without its sender.
type Receipts struct {
	ChannelID      string   `json:"channel_id"`
	MessageID      string   `json:"message_id"`
	AsOf           []string `json:"as_of"`
	DeliveredCount int      `json:"delivered_count"`
	// Empty: this was the last page.
	NextPageToken  string `json:"next_page_token"`
	ReadCount      int    `json:"read_count"`
	RecipientCount int    `json:"recipient_count"`
	// In the order in which they first joined.
	Recipients []Recipient `json:"recipients"`
	Seq        int         `json:"seq"`
	// The least over all recipients: sent, delivered or read; sent if there is none.
	Status string `json:"status"`
	// How many played or opened it.
	ViewedCount int `json:"viewed_count"`
}

// Recipient is what became of the message for one of them. Times are told for 90 days of log
// time; after that status alone says it.
type Recipient struct {
	UserID      string    `json:"user_id"`
	DeliveredAt time.Time `json:"delivered_at,omitzero"`
	ReadAt      time.Time `json:"read_at,omitzero"`
	// sent, delivered or read.
	Status string `json:"status"`
	// When they first played or opened it; unset if they did not.
	ViewedAt time.Time `json:"viewed_at,omitzero"`
}

// UserChannels lists channels by id. Deleted ones are gone, and with them what the user did
// there.
type UserChannels struct {
	AsOf     []string      `json:"as_of"`
	Channels []UserChannel `json:"channels"`
	// Empty: this was the last page.
	NextPageToken string `json:"next_page_token"`
}

// UserChannel is one channel that holds something about a user.
type UserChannel struct {
	ChannelID string `json:"channel_id"`
	// An erasure was folded, and nothing that the user did is left. One who was erased and then
	// did something has this false again.
	Erased bool `json:"erased"`
	Member bool `json:"member"`
}
