package demo

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Step returns the statements of a user's next action: they send a message, or read a channel.
func Step(product string, r *rand.Rand, now time.Time) string {
	if product == "table" {
		return tableStep(r)
	}
	return synapseStep(r, now.UnixMilli())
}

// A user of table reads one more message than the last time, or all.
func tableStep(r *rand.Rand) string {
	user := 1 + r.IntN(8)
	if r.IntN(2) == 0 {
		mentioned := "NULL"
		if r.IntN(4) == 0 {
			mentioned = fmt.Sprintf("'{%d}'", 1+r.IntN(8))
		}
		return fmt.Sprintf(`INSERT INTO messages (id, room_id, author_id, created_at, body, kind, mentioned)
			SELECT max(id) + 1, 1, %d, now(), 'going on', 'text', %s FROM messages;
			UPDATE room_members SET unread_count = unread_count + 1 WHERE room_id = 1 AND user_id <> %[1]d AND left_at IS NULL`, user, mentioned)
	}
	return fmt.Sprintf(`UPDATE room_members SET last_read_message_id = (SELECT max(id) FROM messages WHERE room_id = 1), read_at = now(), unread_count = 0, mention_count = 0
		WHERE room_id = 1 AND user_id = %d AND left_at IS NULL`, user)
}

// synapseStep plays in !general:here, whose members notify each other.
func synapseStep(r *rand.Rand, now int64) string {
	user := []string{"@zoe:here", "@ann:here", "@bob:here", "@cem:here"}[r.IntN(4)]
	if r.IntN(2) == 0 {
		return fmt.Sprintf(`
			INSERT INTO events SELECT max(stream_ordering) + 1, 1, '$live' || max(stream_ordering) + 1, 'm.room.message', '!general:here', '%s', NULL, %d, %[2]d, false, NULL FROM events;
			INSERT INTO event_json SELECT event_id, room_id, '{}', '{"type": "m.room.message", "sender": "%[1]s", "content": {"msgtype": "m.text", "body": "going on", "m.mentions": {}}}', 3
				FROM events ORDER BY stream_ordering DESC LIMIT 1;
			INSERT INTO event_push_actions SELECT e.room_id, e.event_id, m.user_id, NULL, '[]', 1, e.stream_ordering, 1, 0, 0, 'main'
				FROM (SELECT * FROM events ORDER BY stream_ordering DESC LIMIT 1) e JOIN local_current_membership m ON m.room_id = e.room_id
				WHERE m.membership = 'join' AND m.user_id NOT IN ('%[1]s', '@gus:here')`, user, now)
	}
	return fmt.Sprintf(`
		DELETE FROM receipts_linearized WHERE room_id = '!general:here' AND user_id = '%s' AND receipt_type = 'm.read' AND thread_id IS NULL;
		INSERT INTO receipts_linearized SELECT (SELECT max(stream_id) + 1 FROM receipts_linearized), 'master', room_id, 'm.read', '%[1]s', event_id, stream_ordering, NULL, '{"ts": %d}'
			FROM events WHERE room_id = '!general:here' ORDER BY stream_ordering DESC LIMIT 1;
		DELETE FROM event_push_actions WHERE room_id = '!general:here' AND user_id = '%[1]s';
		UPDATE event_push_summary s SET notif_count = 0, last_receipt_stream_ordering = (SELECT max(stream_ordering) FROM events WHERE room_id = '!general:here')
			WHERE room_id = '!general:here' AND user_id = '%[1]s'`, user, now)
}
