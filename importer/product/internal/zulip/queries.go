package zulip

import (
	"strconv"
	"strings"
)

// The bits of zerver_usermessage.flags.
const (
	read     = 1
	wildcard = 16          // @all of a channel
	named    = 8 | 32 | 64 // the user, @topic, a group
)

// The queries of the tables, in the order in which they are read.
var (
	Channels    = fill("SELECT id::text AS channel, type FROM zerver_recipient WHERE type IN (2, 3) UNION ALL SELECT DISTINCT channel, 1 FROM {pairs} p")
	Deactivated = `SELECT s.recipient_id, coalesce((SELECT max(l.event_time) FROM zerver_realmauditlog l WHERE l.modified_stream_id = s.id AND l.event_type = 602),
			(SELECT max(m.date_sent) FROM zerver_message m WHERE m.recipient_id = s.recipient_id), s.date_created) AS at
		FROM zerver_stream s WHERE s.deactivated`
	Members  = fill(members)
	Mutes    = "SELECT recipient_id, user_profile_id FROM zerver_subscription WHERE active AND is_muted"
	Pointers = fill(pointers)
	Singles  = fill(singles)
	Messages = fill(messages)
)

// fill inserts the common parts of the queries.
func fill(query string) string {
	return strings.NewReplacer(
		"{channel}", "CASE WHEN r.type = 1 THEN 'dm-' || least(m.sender_id, r.type_id) || '-' || greatest(m.sender_id, r.type_id) ELSE r.id::text END",
		"{pairs}", `(SELECT 'dm-' || low || '-' || high AS channel, u.id, newest FROM (
			SELECT least(m.sender_id, r.type_id) AS low, greatest(m.sender_id, r.type_id) AS high, max(m.date_sent) AS newest
			FROM zerver_message m JOIN zerver_recipient r ON r.id = m.recipient_id WHERE r.type = 1 GROUP BY 1, 2) p
			JOIN zerver_userprofile u ON u.id IN (low, high))`,
		"{read}", strconv.Itoa(read), "{wildcard}", strconv.Itoa(wildcard), "{named}", strconv.Itoa(named),
	).Replace(query)
}

// members has the log of subscriptions (301 and 302 for a beginning and 303 for an end), and the
// subscriptions that are not in it. open means that the log has no end, active that there is none.
const members = `WITH moves AS (
		SELECT l.modified_stream_id, l.modified_user_id, l.event_type, l.event_time, lead(l.event_time) OVER w AS next
		FROM (SELECT *, lag(event_type = 303, 1, true) OVER (PARTITION BY modified_user_id, modified_stream_id ORDER BY id) <> (event_type = 303) AS moves
			FROM zerver_realmauditlog WHERE event_type IN (301, 302, 303)) l
		WHERE l.moves WINDOW w AS (PARTITION BY l.modified_user_id, l.modified_stream_id ORDER BY l.id))
	SELECT s.recipient_id::text AS channel, l.modified_user_id AS user_id, l.event_time AS joined, l.next AS gone, l.next IS NULL AS open, coalesce(u.active, false) AS active
	FROM moves l JOIN zerver_stream s ON s.id = l.modified_stream_id
		LEFT JOIN zerver_subscription u ON u.recipient_id = s.recipient_id AND u.user_profile_id = l.modified_user_id
	WHERE l.event_type <> 303
	UNION ALL SELECT r.id::text, u.user_profile_id, (SELECT max(l.event_time) + interval '1 millisecond' FROM moves l
			WHERE l.modified_user_id = u.user_profile_id AND l.modified_stream_id = r.type_id AND r.type = 2), NULL, true, true
	FROM zerver_subscription u JOIN zerver_recipient r ON r.id = u.recipient_id
	WHERE u.active AND (r.type = 3 OR r.type = 2 AND NOT EXISTS (SELECT 1 FROM moves l WHERE l.modified_user_id = u.user_profile_id
		AND l.modified_stream_id = r.type_id AND l.event_type <> 303 AND l.next IS NULL))
	UNION ALL SELECT channel, id, NULL, NULL, true, true FROM {pairs} p`

// unread has the oldest unread message of each user in each channel.
const unread = `unread AS (SELECT {channel} AS channel, um.user_profile_id AS user_id, min(m.id) AS lowest
	FROM zerver_usermessage um JOIN zerver_message m ON m.id = um.message_id JOIN zerver_recipient r ON r.id = m.recipient_id
	WHERE um.flags & {read} = 0 GROUP BY 1, 2)`

// pointers has a user's oldest unread message, or the time up to which they have read everything.
// For a user who has been away for weeks, it has the last message that Zulip has delivered to them.
const pointers = `WITH ` + unread + `, newest AS (SELECT recipient_id, max(date_sent) AS at FROM zerver_message GROUP BY 1)
	SELECT r.id::text AS channel, s.user_profile_id AS user_id, l.lowest, CASE WHEN u.long_term_idle THEN
			(SELECT max(m.date_sent) FROM zerver_message m WHERE m.recipient_id = r.id AND m.id <= u.last_active_message_id) ELSE n.at END AS at
	FROM zerver_subscription s JOIN zerver_recipient r ON r.id = s.recipient_id AND r.type IN (2, 3) JOIN zerver_userprofile u ON u.id = s.user_profile_id
		LEFT JOIN unread l ON l.channel = r.id::text AND l.user_id = s.user_profile_id LEFT JOIN newest n ON n.recipient_id = r.id
	WHERE s.active
	UNION ALL SELECT p.channel, p.id, l.lowest, p.newest FROM {pairs} p LEFT JOIN unread l ON l.channel = p.channel AND l.user_id = p.id`

// singles has the messages that a user has read although an older one is unread.
const singles = `WITH ` + unread + ` SELECT l.channel, l.user_id, m.id AS message_id, m.date_sent AS at
	FROM zerver_usermessage um JOIN zerver_message m ON m.id = um.message_id JOIN zerver_recipient r ON r.id = m.recipient_id
		JOIN unread l ON l.user_id = um.user_profile_id AND l.channel = {channel}
	WHERE um.flags & {read} <> 0 AND m.id > l.lowest AND m.sender_id <> um.user_profile_id`

// messages has the messages, and those that were deleted or removed by the retention policy.
const messages = `SELECT {channel} AS channel, m.id, m.sender_id, m.date_sent, m.content, m.deleted_at, n.users AS mentions, coalesce(n.everybody, false) AS mention_all
	FROM (SELECT id, sender_id, recipient_id, date_sent, content, NULL::timestamptz AS deleted_at FROM zerver_message
		UNION ALL SELECT a.id, a.sender_id, a.recipient_id, a.date_sent, a.content, t.timestamp
			FROM zerver_archivedmessage a JOIN zerver_archivetransaction t ON t.id = a.archive_transaction_id WHERE NOT t.restored) m
	JOIN zerver_recipient r ON r.id = m.recipient_id
	LEFT JOIN (SELECT message_id, array_agg(user_profile_id) FILTER (WHERE flags & {named} <> 0) AS users, bool_or(flags & {wildcard} <> 0) AS everybody
		FROM zerver_usermessage WHERE flags & ({named} | {wildcard}) <> 0 GROUP BY message_id) n ON n.message_id = m.id`

// counts counts the unread messages of each pair, among the newest ones of a user, which Zulip
// shows.
const counts = `WITH unread AS (SELECT channel, user_id, count(*) AS unread, count(*) FILTER (WHERE n <= {newest}) AS shown,
		count(*) FILTER (WHERE n <= {newest} AND flags & ({named} | {wildcard}) <> 0) AS mentions
	FROM (SELECT {channel} AS channel, um.user_profile_id AS user_id, um.flags, row_number() OVER (PARTITION BY um.user_profile_id ORDER BY m.id DESC) AS n
		FROM zerver_usermessage um JOIN zerver_message m ON m.id = um.message_id JOIN zerver_recipient r ON r.id = m.recipient_id
		WHERE um.flags & {read} = 0{of}) x GROUP BY 1, 2)
	SELECT p.channel, p.user_id, coalesce(l.shown, 0) AS unread, coalesce(l.mentions, 0) AS mentions, l.shown < l.unread AS capped, u.long_term_idle AS idle
	FROM (SELECT s.recipient_id::text AS channel, s.user_profile_id AS user_id FROM zerver_subscription s JOIN zerver_recipient r ON r.id = s.recipient_id
		WHERE s.active AND r.type IN (2, 3) UNION ALL SELECT channel, id FROM {pairs} q) p
	JOIN zerver_userprofile u ON u.id = p.user_id LEFT JOIN unread l ON l.channel = p.channel AND l.user_id = p.user_id`

// Counts returns the query of the numbers: of the newest unread messages of each user, and only of
// the users that the condition of selects.
func Counts(newest int, of string) string {
	return fill(strings.NewReplacer("{newest}", strconv.Itoa(newest), "{of}", of).Replace(counts))
}
