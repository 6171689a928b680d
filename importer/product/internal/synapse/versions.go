package synapse

import "strings"

// versions has the edits of rooms, redacted ones included, and the messages that were edited. A
// redaction removes the row of event_relations, so any redacted message can be an edit.
const versions = `SELECT e.event_id, e.room_id, e.sender, j.json FROM events e JOIN event_json j ON j.event_id = e.event_id
	WHERE e.room_id IN ({of}) AND e.type IN {types} AND e.state_key IS NULL AND e.rejection_reason IS NULL
	AND (EXISTS (SELECT 1 FROM event_relations r WHERE r.relation_type = 'm.replace' AND (r.event_id = e.event_id OR r.relates_to_id = e.event_id))
		OR EXISTS (SELECT 1 FROM redactions d WHERE d.redacts = e.event_id))`

// Versions returns the query of the versions of edited messages in rooms, a list of literals. types
// are the types of events that are messages.
func Versions(rooms, types string) string {
	return strings.NewReplacer("{types}", types, "{of}", rooms).Replace(versions)
}
