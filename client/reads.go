package client

import "time"

// The kinds of read events.

// ReadUpTo moves the pointer to the target if that is further.
type ReadUpTo struct {
	MessageID string `json:"message_id,omitempty"`
	// Moves the thread's pointer, not the channel's.
	ThreadID string `json:"thread_id,omitempty"`
	// True: the read moves the user's own badge, and others do not see it.
	Private bool `json:"private,omitempty"`
	// The epoch that the client knew; 0 = not stated.
	ReadEpoch int `json:"read_epoch,omitempty"`
	// From 1.
	Seq int `json:"seq,omitempty"`
	// Every message at or before this time.
	Time time.Time `json:"time,omitzero"`
	// Reads the channel and all of its threads, each up to its last reply at or before the target.
	// Not beside thread_id. An event with it states min_version 2.
	WithThreads bool `json:"with_threads,omitempty"`
}

// MessagesRead reads single messages.
type MessagesRead struct {
	ThreadID   string   `json:"thread_id,omitempty"`
	MessageIDs []string `json:"message_ids,omitempty"`
	Private    bool     `json:"private,omitempty"`
	ReadEpoch  int      `json:"read_epoch,omitempty"`
}

// MarkedUnread takes the pointer back to before a message.
type MarkedUnread struct {
	// May be empty if seq is set.
	MessageID string `json:"message_id,omitempty"`
	ThreadID  string `json:"thread_id,omitempty"`
	// The newest message that the user knew, by id or by seq; the seq needs no waiting.
	HeadMessageID string `json:"head_message_id,omitempty"`
	HeadSeq       int    `json:"head_seq,omitempty"`
	// For a message without an id. It names the message there if that one is older than the index
	// of ids, or seeded, whatever message_id says. An id in the index wins.
	Seq int `json:"seq,omitempty"`
}

// ThreadFollowed counts replies later than its occurred_at.
type ThreadFollowed struct {
	ThreadID string `json:"thread_id,omitempty"`
}

// ThreadUnfollowed ends the follow, until the user follows the thread explicitly.
type ThreadUnfollowed struct {
	ThreadID string `json:"thread_id,omitempty"`
}

// ChannelMuted is notify_set with level NONE (muted) or ALL, without until; ignore_mention_all
// stays as it was.
type ChannelMuted struct {
	Muted bool `json:"muted,omitempty"`
}

// NotifySet says how a channel enters the badge.
type NotifySet struct {
	// True: mentions of all do not count as mentions for this user; missing: unchanged.
	IgnoreMentionAll *bool `json:"ignore_mention_all,omitempty"`
	Level            Level `json:"level,omitempty"`
	// The level holds until this time, then the last level without until holds again; missing: the
	// level is permanent.
	Until time.Time `json:"until,omitzero"`
}

// FlagSet flags a channel as unread, or removes the flag. It does not move the pointer.
type FlagSet struct {
	Flagged bool `json:"flagged,omitempty"`
	// The newest message that the user knew: an own post above it removes the flag. 0 = not
	// stated: a later own post does.
	HeadSeq int `json:"head_seq,omitempty"`
}

// ChannelFiled lists a channel apart and leaves it out of totals, or takes it back.
type ChannelFiled struct {
	Archived bool `json:"archived,omitempty"`
	// The newest message that the user knew: a message of others above it is news. 0 = not stated:
	// a later one is.
	HeadSeq int `json:"head_seq,omitempty"`
	// True: permanently; false: until there is news.
	Keep bool `json:"keep,omitempty"`
}

// MessagesHidden removes messages from all of the user's own counts: "delete for me".
type MessagesHidden struct {
	// 1,000 at most.
	MessageIDs []string `json:"message_ids,omitempty"`
	// Everything up to this seq, in threads too: "clear chat". 0 = not stated.
	UpToSeq int `json:"up_to_seq,omitempty"`
}

// LineSet remembers a place to come back to. No count depends on it.
type LineSet struct {
	MessageID string `json:"message_id,omitempty"`
	// From 1.
	Seq int `json:"seq,omitempty"`
}

// MessagesViewed means that the user played or opened messages.
type MessagesViewed struct {
	// 1,000 at most.
	MessageIDs []string `json:"message_ids,omitempty"`
}

// LabelsSet replaces the user's own labels of the channel: folders, sections, pins.
type LabelsSet struct {
	// 16 at most, 1 to 128 bytes each, no control characters.
	Labels []string `json:"labels,omitempty"`
}

// UserErased removes everything that the user did in this channel so far, and excludes them
// from its lists permanently.
type UserErased struct{}

func (ReadUpTo) kind() (of, name string)         { return "read", "read_up_to" }
func (MessagesRead) kind() (of, name string)     { return "read", "messages_read" }
func (MarkedUnread) kind() (of, name string)     { return "read", "marked_unread" }
func (ThreadFollowed) kind() (of, name string)   { return "read", "thread_followed" }
func (ThreadUnfollowed) kind() (of, name string) { return "read", "thread_unfollowed" }
func (ChannelMuted) kind() (of, name string)     { return "read", "channel_muted" }
func (NotifySet) kind() (of, name string)        { return "read", "notify_set" }
func (FlagSet) kind() (of, name string)          { return "read", "flag_set" }
func (ChannelFiled) kind() (of, name string)     { return "read", "channel_filed" }
func (MessagesHidden) kind() (of, name string)   { return "read", "messages_hidden" }
func (LineSet) kind() (of, name string)          { return "read", "line_set" }
func (MessagesViewed) kind() (of, name string)   { return "read", "messages_viewed" }
func (LabelsSet) kind() (of, name string)        { return "read", "labels_set" }
func (UserErased) kind() (of, name string)       { return "read", "user_erased" }
