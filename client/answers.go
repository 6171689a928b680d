package client

import "time"

// Level determines what a channel adds to the badge: unread messages, mentions, or nothing.
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
	// The user flagged the channel as unread, whatever unread is.
	Flagged bool `json:"flagged"`
	// mentions are direct_mentions.
	IgnoreMentionAll bool `json:"ignore_mention_all"`
	// The channel's and the user's own, in ascending order.
	Labels   []string  `json:"labels"`
	LastRead *LastRead `json:"last_read,omitempty"`
	Latest   *Latest   `json:"latest,omitempty"`
	// What the channel adds to the badge, at evaluated_at.
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
	// The number of marks that the counts include. Send it back in reads (0 = not stated there).
	ReadEpoch int `json:"read_epoch"`
	Unread    int `json:"unread"`
	// From then on level_after applies; unset: level is permanent.
	Until time.Time `json:"until,omitzero"`
	// Stamp is how far the state was folded. Only a Device has it.
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
	// Counts the thread's own marks. Send it back in reads with its thread_id.
	ReadEpoch int       `json:"read_epoch"`
	Unread    int       `json:"unread"`
	Until     time.Time `json:"until,omitzero"`
	// Stamp is how far the state was folded. Only a Device has it.
	Stamp string `json:"stamp,omitempty"`
}

// MessageRef names a message. A seq without an id: the id has left the index.
type MessageRef struct {
	MessageID string `json:"message_id"`
	Seq       int    `json:"seq"`
}

// LastRead is a user's pointer, with the time of the read that set it.
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

// Filed describes how the user filed a channel.
type Filed struct {
	// No news brings it back.
	Keep bool `json:"keep"`
}

// Totals are sums over the user's channels, and over the listed threads of these channels. They
// leave out archived channels and channels of level NONE.
type Totals struct {
	// The archived channels, muted or not.
	Archived ArchivedTotals `json:"archived"`
	// The sum of unread over channels of level ALL and of mentions over channels of level MENTIONS,
	// and the same of their threads. A flagged channel adds at least 1.
	Badge int `json:"badge"`
	// Flagged channels that are not archived, including muted ones.
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

// ThreadsPage is a page of a user's threads. A thread is listed while its last reply, or the user's
// last read or follow in it, is at most 30 days old. Totals are those of GetInbox, for threads
// only.
type ThreadsPage struct {
	AsOf        []string  `json:"as_of"`
	EvaluatedAt time.Time `json:"evaluated_at,omitzero"`
	// Empty: this was the last page.
	NextPageToken string         `json:"next_page_token"`
	Threads       []ThreadUnread `json:"threads"`
	Totals        Totals         `json:"totals"`
}

// Explanation has the messages that an unread count consists of.
type Explanation struct {
	AsOf     []string `json:"as_of"`
	Excluded Excluded `json:"excluded"`
	// The messages that are counted and have an id, oldest first, at most 1,000.
	MessageIDs []string `json:"message_ids"`
	// There are more messages than message_ids has.
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
	// Hidden by the user, or from the user.
	Hidden     int `json:"hidden"`
	Own        int `json:"own"`
	ReadSingly int `json:"read_singly"`
	Silent     int `json:"silent"`
	Thread     int `json:"thread"`
}

// Pointer is a user's pointer and the record that set it.
type Pointer struct {
	MessageID string    `json:"message_id"`
	At        time.Time `json:"at,omitzero"`
	// "topic/partition/offset".
	Event string `json:"event"`
	Seq   int    `json:"seq"`
}

// Channel describes a channel independently of any user.
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

// ReadersPage lists all members in the order in which they first joined, including those who have
// read nothing.
type ReadersPage struct {
	AsOf []string `json:"as_of"`
	// Empty: this was the last page.
	NextPageToken string   `json:"next_page_token"`
	Readers       []Reader `json:"readers"`
}

// Reader is how far a member has publicly read. seq 0 means nothing, and at is then unset; a seq
// without an id means that the id has left the index.
type Reader struct {
	MessageID string    `json:"message_id"`
	UserID    string    `json:"user_id"`
	At        time.Time `json:"at,omitzero"`
	Seq       int       `json:"seq"`
}

// Receipts has who received and who read a message. On every page, its counts and status are over
// all recipients: the members when it was posted, without its sender.
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
	// The lowest status of all recipients: sent, delivered or read; sent without recipients.
	Status string `json:"status"`
	// The number of recipients who played or opened the message.
	ViewedCount int `json:"viewed_count"`
}

// Recipient is the state of the message for one recipient. Times are available for 90 days of log
// time, status for good.
type Recipient struct {
	UserID      string    `json:"user_id"`
	DeliveredAt time.Time `json:"delivered_at,omitzero"`
	ReadAt      time.Time `json:"read_at,omitzero"`
	// sent, delivered or read.
	Status string `json:"status"`
	// When they first played or opened it; unset if they did not.
	ViewedAt time.Time `json:"viewed_at,omitzero"`
}

// UserChannels is a page of channels by id. It has no deleted channels: nothing of the user is left
// in them.
type UserChannels struct {
	AsOf     []string      `json:"as_of"`
	Channels []UserChannel `json:"channels"`
	// Empty: this was the last page.
	NextPageToken string `json:"next_page_token"`
}

// UserChannel is one channel that holds something about a user.
type UserChannel struct {
	ChannelID string `json:"channel_id"`
	// The user was erased, and nothing that they did is left. It is false again once an erased user
	// does something.
	Erased bool `json:"erased"`
	Member bool `json:"member"`
}
