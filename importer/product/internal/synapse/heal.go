package synapse

import (
	"fmt"
	"strings"

	"github.com/tidemark/tidemark/importer/product/internal/quote"
)

// setUnread is a procedure of a session that corrects a number, if it is still the compared one. It
// removes push actions that do not count: those of edits, which are no new messages, those that a
// receipt has read, those that belong to an empty summary, and the oldest of too many newer ones. A
// summary as of that receipt then has what the remaining push actions lack. Synapse adds newer ones
// to it.
const setUnread = `CREATE OR REPLACE PROCEDURE pg_temp.set_unread(of_user text, of_room text, of_thread text, theirs bigint, ours bigint) LANGUAGE sql AS $$
{since}place AS (SELECT coalesce(r.since, j.since) AS since, o.stream_ordering AS rotated
	FROM joined j CROSS JOIN {rotated} o LEFT JOIN receipts r ON r.thread_id = of_thread),
actions AS (SELECT a.event_id, a.stream_ordering AS at,
		EXISTS (SELECT FROM event_relations r WHERE r.event_id = a.event_id AND r.relation_type = 'm.replace') AS edit
	FROM event_push_actions a WHERE a.user_id = of_user AND a.room_id = of_room AND coalesce(a.thread_id, 'main') = of_thread AND a.notif = 1),
newer AS (SELECT x.event_id, row_number() OVER (ORDER BY x.at DESC) AS nth FROM actions x CROSS JOIN place p WHERE NOT x.edit AND x.at > greatest(p.since, p.rotated)),
wanted AS (SELECT p.since, p.rotated, greatest(0, ours - (SELECT count(*) FROM newer)) AS sum
	FROM place p WHERE theirs = coalesce((SELECT s.notif_count FROM event_push_summary s
			WHERE s.user_id = of_user AND s.room_id = of_room AND s.thread_id = of_thread AND {valid})
		+ (SELECT count(*) FROM actions x WHERE x.at > p.rotated), (SELECT count(*) FROM actions x WHERE x.at > p.since))),
removed AS (DELETE FROM event_push_actions a USING wanted w, actions x
	WHERE a.user_id = of_user AND a.room_id = of_room AND a.event_id = x.event_id
	AND (x.edit OR x.at <= w.since OR w.sum = 0 AND x.at <= w.rotated OR EXISTS (SELECT FROM newer n WHERE n.event_id = x.event_id AND n.nth > ours))),
changed AS (UPDATE event_push_summary s SET notif_count = w.sum, last_receipt_stream_ordering = w.since
	FROM wanted w WHERE s.user_id = of_user AND s.room_id = of_room AND s.thread_id = of_thread RETURNING 1)
INSERT INTO event_push_summary (user_id, room_id, thread_id, notif_count, unread_count, stream_ordering, last_receipt_stream_ordering)
SELECT of_user, of_room, of_thread, w.sum, 0, w.rotated, w.since FROM wanted w WHERE w.sum > 0 AND NOT EXISTS (SELECT FROM changed);
$$;`

// HealPrologue has what the statements of Heal use.
var HealPrologue = strings.NewReplacer(
	"{since}", strings.ReplaceAll(since, "{of}", " AND m.user_id = of_user AND m.room_id = of_room"), "{rotated}", rotated, "{valid}", valid,
).Replace(setUnread)

// Heal returns the statement that corrects a number. A thread of "" is the room.
func Heal(user, room, thread string, theirs, ours int64) string {
	if thread == "" {
		thread = "main"
	}
	return fmt.Sprintf("CALL pg_temp.set_unread(%s, %s, %s, %d, %d);", quote.Literal(user), quote.Literal(room), quote.Literal(thread), theirs, ours)
}
