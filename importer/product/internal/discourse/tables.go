package discourse

import "strings"

// The tables that an import reads.
//
// A pointer may name a message that is gone: what counts is the newest one up to it.
const (
	Channels = "SELECT id, chatable_type, deleted_at FROM chat_channels"
	Members  = `SELECT u.user_id, u.chat_channel_id, u.following, u.muted, u.created_at, u.updated_at, u.last_viewed_at,
		(SELECT max(m.id) FROM chat_messages m WHERE m.chat_channel_id = u.chat_channel_id AND m.id <= u.last_read_message_id) AS last_read_message_id
		FROM user_chat_channel_memberships u`
	Threads = `SELECT u.user_id, t.channel_id, t.original_message_id, u.notification_level, u.updated_at, m.id AS last_read_message_id, m.created_at AS read_at
		FROM user_chat_thread_memberships u JOIN chat_threads t ON t.id = u.thread_id LEFT JOIN chat_messages m ON m.id =
			(SELECT max(x.id) FROM chat_messages x WHERE x.chat_channel_id = t.channel_id AND x.id <= u.last_read_message_id)`
)

// Posts are the messages.
const Posts = `SELECT m.id, m.chat_channel_id, m.user_id, m.created_at, m.deleted_at, m.message,
			CASE WHEN c.threading_enabled AND m.id <> t.original_message_id THEN t.original_message_id END AS root,
			n.users AS mentions, coalesce(n.everybody, false) AS mention_all
		FROM chat_messages m JOIN chat_channels c ON c.id = m.chat_channel_id LEFT JOIN chat_threads t ON t.id = m.thread_id
		LEFT JOIN (SELECT chat_message_id, array_agg(target_id) FILTER (WHERE type = 'Chat::UserMention') AS users,
			bool_or(type IN ('Chat::AllMention', 'Chat::HereMention')) AS everybody FROM chat_mentions GROUP BY chat_message_id) n ON n.chat_message_id = m.id`

const counts = `
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
		WHERE u.notification_level > 1{of}`

// Counts returns the query of the numbers of members, and of threads that they track; of is a
// condition for the users.
func Counts(of string) string { return strings.ReplaceAll(counts, "{of}", of) }
