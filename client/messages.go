package client

import "time"

// The kinds of message events.

// MessagePosted adds a message at the end of its channel.
type MessagePosted struct {
	// Unique within the channel.
	MessageID string `json:"message_id,omitempty"`
	// Id of the root message; empty = top level.
	ThreadID string `json:"thread_id,omitempty"`
	// A reply that is also shown in the channel.
	Broadcast bool `json:"broadcast,omitempty"`
	// User ids, 1,000 at most: for them the message does not exist, because they ignore the
	// sender. An event with it states min_version 2.
	HiddenFrom []string `json:"hidden_from,omitempty"`
	// Whether posting reads up to the message, in place of the setting send_marks_read. A silent
	// message reads nothing, a reply only its thread. An event with it states min_version 2.
	MarksRead *bool `json:"marks_read,omitempty"`
	// If the producer knows it; otherwise the fold uses its own count.
	MemberCount int `json:"member_count,omitempty"`
	// @channel.
	MentionAll bool `json:"mention_all,omitempty"`
	// User ids.
	Mentions []string `json:"mentions,omitempty"`
	// Cut to 140 characters.
	Preview string `json:"preview,omitempty"`
	// May be empty only if the message is silent.
	SenderID string `json:"sender_id,omitempty"`
	// For joins, renames, timers: the message never counts.
	Silent bool `json:"silent,omitempty"`
}

// MessageEdited replaces preview and mentions; it never raises unread.
type MessageEdited struct {
	MessageID string `json:"message_id,omitempty"`
	// The mentions stay as they are; else mentions and mention_all restate them.
	KeepMentions bool     `json:"keep_mentions,omitempty"`
	MentionAll   bool     `json:"mention_all,omitempty"`
	Mentions     []string `json:"mentions,omitempty"`
	Preview      string   `json:"preview,omitempty"`
}

// MessageDeleted takes a message out of all counts.
type MessageDeleted struct {
	// May be empty if seq is set.
	MessageID string `json:"message_id,omitempty"`
	// If known. It names the message there if that one is older than the index of ids, or seeded,
	// whatever message_id says. An id in the index wins.
	Seq int `json:"seq,omitempty"`
}

// MessagesPurged (retention) removes everything up to a message, of the messages posted so
// far.
type MessagesPurged struct {
	UpToMessageID string    `json:"up_to_message_id,omitempty"`
	UpToSeq       int       `json:"up_to_seq,omitempty"`
	UpToTime      time.Time `json:"up_to_time,omitzero"`
}

// MembersJoined makes users members of the channel.
type MembersJoined struct {
	// True: what was posted before counts as unread (a direct message on first contact).
	CountHistory bool     `json:"count_history,omitempty"`
	UserIDs      []string `json:"user_ids,omitempty"`
}

// MembersLeft ends memberships.
type MembersLeft struct {
	UserIDs []string `json:"user_ids,omitempty"`
}

// ChannelDeleted removes the channel with everything in it, for good.
type ChannelDeleted struct{}

// MessagesSeeded says how many messages the channel had before its topics began. Nobody writes
// these again: they count, and have no id, sender or preview. Only the first event that gives
// the channel a message may be one; later ones are ignored. An event with it states
// min_version 2.
type MessagesSeeded struct {
	// 1 to 2^31.
	Count int `json:"count,omitempty"`
}

// ChannelUpdated replaces the previous ChannelUpdated of the channel. An event with it states
// min_version 2.
type ChannelUpdated struct {
	// Archived for everybody, until an update without it.
	Archived bool `json:"archived,omitempty"`
	// Workspace, server, folder, kind: 16 at most, 1 to 128 bytes each, no control characters.
	Labels []string `json:"labels,omitempty"`
}

func (MessagePosted) kind() (of, name string)  { return "message", "message_posted" }
func (MessageEdited) kind() (of, name string)  { return "message", "message_edited" }
func (MessageDeleted) kind() (of, name string) { return "message", "message_deleted" }
func (MessagesPurged) kind() (of, name string) { return "message", "messages_purged" }
func (MembersJoined) kind() (of, name string)  { return "message", "members_joined" }
func (MembersLeft) kind() (of, name string)    { return "message", "members_left" }
func (ChannelDeleted) kind() (of, name string) { return "message", "channel_deleted" }
func (MessagesSeeded) kind() (of, name string) { return "message", "messages_seeded" }
func (ChannelUpdated) kind() (of, name string) { return "message", "channel_updated" }
