package synapse

import (
	"strings"

	"github.com/tidemark/tidemark/importer/product/internal/needs"
)

// CountsNeeds are the tables that only a comparison reads.
var CountsNeeds = []needs.Table{
	{Name: "local_current_membership", Columns: "room_id user_id event_id membership"},
	{
		Name: "event_push_actions", Columns: "room_id user_id thread_id stream_ordering notif highlight",
		Since: map[string]string{"thread_id": "version 73 of its schema"},
	},
	{
		Name: "event_push_summary", Columns: "room_id user_id thread_id notif_count stream_ordering last_receipt_stream_ordering",
		Since: map[string]string{"thread_id": "version 73 of its schema", "last_receipt_stream_ordering": "version 72 of its schema"},
	},
	{Name: "event_push_summary_stream_ordering", Columns: "stream_ordering"},
	{Name: "receipts_linearized", Columns: "room_id user_id receipt_type event_id thread_id event_stream_ordering"},
	{Name: "events", Columns: "event_id room_id stream_ordering"},
}

// since has the places from which numbers count: of each room that a user is in, and of each thread
// with a later receipt.
const since = `WITH joined AS (SELECT m.user_id, m.room_id, coalesce(
		(SELECT max(e.stream_ordering) FROM receipts_linearized r JOIN events e ON e.event_id = r.event_id AND e.room_id = r.room_id
			WHERE r.user_id = m.user_id AND r.room_id = m.room_id AND r.thread_id IS NULL AND r.receipt_type IN ('m.read', 'm.read.private')),
		(SELECT e.stream_ordering FROM events e WHERE e.event_id = m.event_id), 0) AS since
	FROM local_current_membership m WHERE m.membership = 'join'{of}),
receipts AS (SELECT j.user_id, j.room_id, r.thread_id, max(r.event_stream_ordering) AS since
	FROM joined j JOIN receipts_linearized r ON r.user_id = j.user_id AND r.room_id = j.room_id
	WHERE r.thread_id IS NOT NULL AND r.receipt_type IN ('m.read', 'm.read.private') AND r.event_stream_ordering > j.since GROUP BY 1, 2, 3),
`

// rotated is the place up to which push actions are summed up.
const rotated = "(SELECT coalesce(max(stream_ordering), 0) AS stream_ordering FROM event_push_summary_stream_ordering)"

// valid is the condition of a summary s that includes the receipt of a place p.
const valid = `s.notif_count <> 0
	AND (s.last_receipt_stream_ordering = p.since OR s.last_receipt_stream_ordering IS NULL AND s.stream_ordering > p.since)`

// counts computes notification_count and highlight_count of /sync, for the room and for each
// thread. A number counts from the newest receipt without a thread, or else from the user's newest
// membership event. In a thread it counts from a later receipt of that thread, if there is one. The
// number is the sum of a summary and of the push actions after all summaries. The summary is valid
// if it includes that receipt.
const counts = since + `threads AS (SELECT user_id, room_id, 'main' AS thread_id FROM joined
	UNION SELECT user_id, room_id, thread_id FROM receipts
	UNION SELECT user_id, room_id, thread_id FROM event_push_summary
	UNION SELECT DISTINCT user_id, room_id, thread_id FROM event_push_actions),
places AS (SELECT t.user_id, t.room_id, t.thread_id, coalesce(r.since, j.since) AS since
	FROM threads t JOIN joined j ON j.user_id = t.user_id AND j.room_id = t.room_id
	LEFT JOIN receipts r ON r.user_id = t.user_id AND r.room_id = t.room_id AND r.thread_id = t.thread_id WHERE t.thread_id IS NOT NULL)
SELECT p.room_id, p.user_id, nullif(p.thread_id, 'main') AS thread_id,
	coalesce(s.notif_count, 0) + (SELECT count(*) FROM event_push_actions a
		WHERE a.user_id = p.user_id AND a.room_id = p.room_id AND coalesce(a.thread_id, 'main') = p.thread_id AND a.notif = 1
		AND a.stream_ordering > CASE WHEN s.notif_count IS NULL THEN p.since ELSE o.stream_ordering END) AS unread,
	(SELECT count(*) FROM event_push_actions a
		WHERE a.user_id = p.user_id AND a.room_id = p.room_id AND coalesce(a.thread_id, 'main') = p.thread_id AND a.highlight = 1
		AND a.stream_ordering > p.since) AS mentions
FROM places p CROSS JOIN ` + rotated + ` o
LEFT JOIN event_push_summary s ON s.user_id = p.user_id AND s.room_id = p.room_id AND s.thread_id = p.thread_id AND ` + valid

// Counts returns the query of the numbers of users, a list of literals; "" for all users.
func Counts(users string) string {
	of := ""
	if users != "" {
		of = " AND m.user_id IN (" + users + ")"
	}
	return strings.ReplaceAll(counts, "{of}", of)
}
