package discourse

// Queries are the queries of the tables of a mapping.
var Queries = map[string]string{
	"channels": "SELECT id AS channel_id, chatable_type = 'DirectMessage' AS direct, deleted_at FROM chat_channels",
	"members": `SELECT chat_channel_id AS channel_id, user_id, created_at AS joined_at,
		CASE WHEN NOT following THEN greatest(updated_at, created_at) END AS left_at FROM user_chat_channel_memberships`,
	"pointers": pointers,
	"follows": `SELECT t.channel_id, u.user_id, t.original_message_id AS thread_id, u.thread_id AS thread_row,
			CASE WHEN u.notification_level > 1 THEN (SELECT x.created_at FROM chat_messages x WHERE x.chat_channel_id = t.channel_id
				AND x.id <= u.last_read_message_id ORDER BY x.id DESC LIMIT 1) END AS followed_at,
			CASE WHEN u.notification_level <= 1 THEN u.updated_at END AS unfollowed_at
		FROM user_chat_thread_memberships u JOIN chat_threads t ON t.id = u.thread_id`,
	"mutes":    "SELECT chat_channel_id AS channel_id, user_id, updated_at AS muted_at FROM user_chat_channel_memberships WHERE muted",
	"messages": messages,
}

// pointers has the pointers of channels and threads. A pointer may name a message that is gone:
// what counts is the newest one up to it.
const pointers = `SELECT u.chat_channel_id AS channel_id, u.user_id, NULL::bigint AS thread_id, NULL::bigint AS thread_row, (SELECT max(x.id) FROM chat_messages x
			WHERE x.chat_channel_id = u.chat_channel_id AND x.id <= u.last_read_message_id) AS message_id
		FROM user_chat_channel_memberships u WHERE u.last_read_message_id IS NOT NULL
	UNION ALL SELECT t.channel_id, u.user_id, t.original_message_id, u.thread_id, (SELECT max(x.id) FROM chat_messages x
			WHERE x.chat_channel_id = t.channel_id AND x.id <= u.last_read_message_id)
		FROM user_chat_thread_memberships u JOIN chat_threads t ON t.id = u.thread_id
		WHERE u.last_read_message_id IS NOT NULL AND t.original_message_id IS NOT NULL`

// messages has the messages. One whose author was removed counts for nobody.
const messages = `SELECT m.chat_channel_id AS channel_id, m.id AS message_id, m.user_id AS sender_id, m.created_at AS posted_at, m.deleted_at, m.message AS body,
		CASE WHEN c.threading_enabled AND m.id <> t.original_message_id THEN t.original_message_id END AS thread_id, m.user_id IS NULL AS silent,
		n.users AS mentions, coalesce(n.everybody, false) AS mention_all
	FROM chat_messages m JOIN chat_channels c ON c.id = m.chat_channel_id LEFT JOIN chat_threads t ON t.id = m.thread_id
	LEFT JOIN LATERAL (SELECT array_agg(x.target_id) FILTER (WHERE x.type = 'Chat::UserMention') AS users,
		bool_or(x.type IN ('Chat::AllMention', 'Chat::HereMention')) AS everybody FROM chat_mentions x WHERE x.chat_message_id = m.id) n ON true`
