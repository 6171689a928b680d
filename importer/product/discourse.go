package product

import (
	"context"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// Discourse is the chat of a Discourse site in its PostgreSQL database. A thread has the id of its
// original message.
type Discourse struct{ Source source.Tables }

// discourseTables are the tables to read, in order. Messages come last, because pointers and
// follows determine which threads matter.
var discourseTables = []table{
	{"chat_channels", discourseChannels, []string{"id", "chatable_type"}, discourseChannel},
	{"chat_channels", discourseChannels, []string{"id", "deleted_at"}, discourseChannelDeleted},
	{"user_chat_channel_memberships", discourseMembers, []string{"user_id", "chat_channel_id", "following", "created_at", "updated_at"}, discourseMember},
	{"user_chat_channel_memberships", discourseMembers, []string{"user_id", "chat_channel_id", "last_read_message_id", "last_viewed_at"}, discoursePointer},
	{"user_chat_channel_memberships", discourseMembers, []string{"user_id", "chat_channel_id", "muted", "updated_at"}, discourseMute},
	{"user_chat_thread_memberships", discourseThreads, []string{"user_id", "channel_id", "original_message_id", "last_read_message_id", "updated_at"}, discourseThreadPointer},
	{"user_chat_thread_memberships", discourseThreads, []string{"user_id", "channel_id", "original_message_id", "notification_level", "read_at", "updated_at"}, discourseFollow},
	{"chat_messages", `SELECT m.id, m.chat_channel_id, m.user_id, m.created_at, m.deleted_at, m.message,
			CASE WHEN c.threading_enabled AND m.id <> t.original_message_id THEN t.original_message_id END AS root,
			n.users AS mentions, coalesce(n.everybody, false) AS mention_all
		FROM chat_messages m JOIN chat_channels c ON c.id = m.chat_channel_id LEFT JOIN chat_threads t ON t.id = m.thread_id
		LEFT JOIN (SELECT chat_message_id, array_agg(target_id) FILTER (WHERE type = 'Chat::UserMention') AS users,
			bool_or(type IN ('Chat::AllMention', 'Chat::HereMention')) AS everybody FROM chat_mentions GROUP BY chat_message_id) n ON n.chat_message_id = m.id`,
		[]string{"id", "chat_channel_id", "user_id", "created_at", "deleted_at", "message", "root", "mentions", "mention_all"}, discoursePost},
}

// A pointer may name a message that is gone: what counts is the newest one up to it.
const (
	discourseChannels = "SELECT id, chatable_type, deleted_at FROM chat_channels"
	discourseMembers  = `SELECT u.user_id, u.chat_channel_id, u.following, u.muted, u.created_at, u.updated_at, u.last_viewed_at,
		(SELECT max(m.id) FROM chat_messages m WHERE m.chat_channel_id = u.chat_channel_id AND m.id <= u.last_read_message_id) AS last_read_message_id
		FROM user_chat_channel_memberships u`
	discourseThreads = `SELECT u.user_id, t.channel_id, t.original_message_id, u.notification_level, u.updated_at, m.id AS last_read_message_id, m.created_at AS read_at
		FROM user_chat_thread_memberships u JOIN chat_threads t ON t.id = u.thread_id LEFT JOIN chat_messages m ON m.id =
			(SELECT max(x.id) FROM chat_messages x WHERE x.chat_channel_id = t.channel_id AND x.id <= u.last_read_message_id)`
)

// Events reads the tables.
func (d *Discourse) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	r := reading{d.Source, p, emit}
	return r.all(ctx, discourseTables, "the database of a Discourse site with chat")
}

func discourseChannel(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannel, Channel: f.Text("id"), Direct: f.Text("chatable_type") == "DirectMessage"}
	return true
}

func discourseChannelDeleted(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannelDeleted, Channel: f.Text("id"), At: f.at("deleted_at")}
	return e.At > 0
}

// discourseMember maps a membership. One who has left keeps the row, which does not follow any
// more.
func discourseMember(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMember, Channel: f.Text("chat_channel_id"), User: f.Text("user_id"), At: f.at("created_at")}
	if !f.truth("following") {
		e.Until = max(f.at("updated_at"), e.At, 1)
	}
	return true
}

func discoursePointer(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPointer, Channel: f.Text("chat_channel_id"), User: f.Text("user_id"), ID: f.Text("last_read_message_id"),
		Until: f.at("last_viewed_at"),
	}
	return e.ID != ""
}

func discourseMute(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMute, Channel: f.Text("chat_channel_id"), User: f.Text("user_id"), At: f.at("updated_at")}
	return f.truth("muted")
}

func discourseThreadPointer(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPointer, Channel: f.Text("channel_id"), User: f.Text("user_id"), Thread: f.Text("original_message_id"),
		ID: f.Text("last_read_message_id"), Until: f.at("updated_at"),
	}
	return e.ID != ""
}

// quietThreads are the levels at which replies do not count: muted and normal.
var quietThreads = []string{"0", "1"}

// discourseFollow maps the level of a thread. Replies after the last one that was read count,
// whenever the user began to track it.
func discourseFollow(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindFollow, Channel: f.Text("channel_id"), User: f.Text("user_id"), Thread: f.Text("original_message_id"), At: f.at("read_at"),
	}
	if slices.Contains(quietThreads, f.Text("notification_level")) {
		e.Kind, e.At = importer.KindUnfollow, f.at("updated_at")
	}
	return true
}

// discoursePost maps a message. Those whose author was removed count for nobody in Discourse.
func discoursePost(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPost, Channel: f.Text("chat_channel_id"), ID: f.Text("id"), User: f.Text("user_id"), Thread: f.Text("root"),
		At: f.at("created_at"), Until: f.at("deleted_at"), Text: f.Text("message"), Mentions: list(f.Text("mentions")), MentionAll: f.truth("mention_all"),
		Silent: f.Text("user_id") == "",
	}
	return true
}

// Counts computes the numbers as Discourse does: it stores none. Mentions are its notifications
// that are not read.
func (d *Discourse) Counts(ctx context.Context, users []string, p *importer.Problems, emit func(importer.Count) error) error {
	of := ""
	if len(users) > 0 {
		of = " AND u.user_id::text IN (" + literals(users) + ")"
	}
	_, err := counts{d.Source, p, [4]string{"chat_channel_id", "user_id", "thread", "mentions"}}.read(ctx, strings.ReplaceAll(`
		SELECT u.chat_channel_id, u.user_id, NULL AS thread,
			(SELECT count(*) FROM chat_messages m JOIN chat_channels c ON c.id = m.chat_channel_id LEFT JOIN chat_threads t ON t.id = m.thread_id
				WHERE m.chat_channel_id = u.chat_channel_id AND m.user_id <> u.user_id AND m.id > coalesce(u.last_read_message_id, 0) AND m.deleted_at IS NULL
				AND (m.thread_id IS NULL OR m.id = t.original_message_id OR NOT c.threading_enabled)) AS unread,
			(SELECT count(*) FROM notifications n WHERE NOT n.read AND n.user_id = u.user_id AND n.notification_type = 29
				AND (n.data::json->>'chat_channel_id')::bigint = u.chat_channel_id
				AND (n.data::json->>'chat_message_id')::bigint > coalesce(u.last_read_message_id, 0)) AS mentions
		FROM user_chat_channel_memberships u WHERE u.following{of}
		UNION ALL
		SELECT t.channel_id, u.user_id, t.original_message_id,
			(SELECT count(*) FROM chat_messages m JOIN chat_messages root ON root.id = t.original_message_id
				WHERE m.thread_id = t.id AND m.id <> t.original_message_id AND m.user_id <> u.user_id AND m.id > coalesce(u.last_read_message_id, 0)
				AND m.deleted_at IS NULL AND root.deleted_at IS NULL), NULL
		FROM user_chat_thread_memberships u JOIN chat_threads t ON t.id = u.thread_id JOIN chat_channels c ON c.id = t.channel_id AND c.threading_enabled
		JOIN user_chat_channel_memberships p ON p.chat_channel_id = t.channel_id AND p.user_id = u.user_id AND p.following AND NOT p.muted
		WHERE u.notification_level > 1{of}`, "{of}", of), users, emit)
	return err
}
