package product

import (
	"context"
	"encoding/json"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/needs"
	"github.com/tidemark/tidemark/importer/product/internal/synapse"
	"github.com/tidemark/tidemark/importer/source"
)

// Synapse is the PostgreSQL database of a Synapse server for Matrix. A thread has the id of its
// root event.
//
// The order of a room is that of stream_ordering, and the clocks of other servers may be wrong. So
// the queries give each event of a room a time that rises with its stream_ordering: the time when
// Synapse received it, or one millisecond after the event before it if that is later.
type Synapse struct {
	Source source.Tables

	direct map[string]bool     // rooms
	inside map[string][]string // threads that a user follows automatically, by room and user
}

// synapseNeeds are the tables and columns that an import reads.
var synapseNeeds = []needs.Table{
	{Name: "events", Columns: "event_id room_id type sender state_key stream_ordering origin_server_ts received_ts outlier rejection_reason"},
	{Name: "event_json", Columns: "event_id room_id json"},
	{Name: "event_relations", Columns: "event_id relates_to_id relation_type"},
	{Name: "redactions", Columns: "event_id redacts"},
	{Name: "rooms", Columns: "room_id"},
	{Name: "room_memberships", Columns: "event_id room_id user_id membership"},
	{Name: "current_state_events", Columns: "event_id"},
	{
		Name: "receipts_linearized", Columns: "room_id user_id receipt_type event_id data thread_id event_stream_ordering",
		Since: map[string]string{"thread_id": "version 73 of its schema", "event_stream_ordering": "version 73 of its schema"},
	},
	{Name: "account_data", Columns: "user_id account_data_type content"},
	{Name: "push_rules", Columns: "user_name rule_id actions"},
	{Name: "push_rules_enable", Columns: "user_name rule_id enabled"},
	{Name: "thread_subscriptions", Columns: "room_id event_id user_id subscribed automatic", Optional: true},
}

// synapseTimed has the time of each event. A time after the database's clock, or before 1973,
// counts as missing.
const synapseTimed = `WITH timed AS (
	SELECT event_id, stream_ordering, outlier, wrong, n + greatest(100000000000, max(CASE WHEN wrong THEN 0 ELSE at END - n)
		OVER (PARTITION BY room_id ORDER BY stream_ordering)) AS at
	FROM (SELECT event_id, room_id, stream_ordering, outlier, coalesce(received_ts, origin_server_ts) AS at,
			coalesce(received_ts, origin_server_ts) NOT BETWEEN 100000000000 AND extract(epoch FROM now()) * 1000 AS wrong,
			row_number() OVER (PARTITION BY room_id ORDER BY stream_ordering) AS n
		FROM events WHERE stream_ordering > 0 AND rejection_reason IS NULL) e)
`

// synapseMembers has changes of membership: a member who changes their name joins again. Outliers
// are events from before this server joined, of which only the current ones are certain.
const synapseMembers = synapseTimed + `SELECT room_id, user_id, joined, at, lead(at) OVER (PARTITION BY room_id, user_id ORDER BY at) AS until
	FROM (SELECT m.room_id, m.user_id, t.at, m.membership = 'join' AS joined,
			lag(m.membership = 'join', 1, false) OVER (PARTITION BY m.room_id, m.user_id ORDER BY t.stream_ordering) AS was
		FROM room_memberships m JOIN timed t ON t.event_id = m.event_id
		WHERE NOT t.outlier OR EXISTS (SELECT 1 FROM current_state_events c WHERE c.event_id = m.event_id)) changes
	WHERE joined <> was`

const synapseReceipts = synapseTimed + `SELECT r.room_id, r.user_id, r.receipt_type, r.event_id, r.thread_id, r.data, t.at
	FROM receipts_linearized r LEFT JOIN timed t ON t.event_id = r.event_id WHERE r.receipt_type IN ('m.read', 'm.read.private')`

// synapsePosts has messages. Threads come from event_json, because a redaction removes the row of
// event_relations. For the same reason, an edit in event_relations was not redacted. Only the
// author of a message can edit it.
const synapsePosts = synapseTimed + `SELECT e.event_id, e.room_id, e.sender, e.type, t.at, t.wrong, d.at AS redacted_at, j.json, x.json AS edit, root.sender AS root_sender
	FROM events e JOIN timed t ON t.event_id = e.event_id JOIN event_json j ON j.event_id = e.event_id
	LEFT JOIN (SELECT r.redacts, min(t.at) AS at FROM redactions r JOIN timed t ON t.event_id = r.event_id GROUP BY r.redacts) d ON d.redacts = e.event_id
	LEFT JOIN (SELECT DISTINCT ON (r.relates_to_id, o.sender) r.relates_to_id, o.sender, j.json
		FROM event_relations r JOIN events o ON o.event_id = r.event_id JOIN event_json j ON j.event_id = r.event_id
		WHERE r.relation_type = 'm.replace' AND o.rejection_reason IS NULL
		ORDER BY r.relates_to_id, o.sender, o.origin_server_ts DESC, o.event_id DESC) x ON x.relates_to_id = e.event_id AND x.sender = e.sender
	LEFT JOIN event_relations h ON h.event_id = e.event_id AND h.relation_type = 'm.thread' LEFT JOIN events root ON root.event_id = h.relates_to_id
	WHERE NOT e.outlier AND e.state_key IS NULL AND e.type IN ('m.room.message', 'm.room.encrypted', 'm.sticker', 'm.poll.start', 'org.matrix.msc3381.poll.start')`

// Events reads the tables. Receipts come twice, because a receipt without a thread also reads
// threads, and only the messages show which threads matter to a user.
func (s *Synapse) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	s.direct, s.inside = map[string]bool{}, map[string][]string{}
	has, err := needs.Check(ctx, s.Source, "Synapse", synapseNeeds)
	if err != nil {
		return err
	}
	r := reading{s.Source, p, emit}
	receipts := []string{"room_id", "user_id", "receipt_type", "event_id", "thread_id", "data", "at"}
	if err := r.all(ctx, []table{
		{"account_data", "SELECT user_id, content FROM account_data WHERE account_data_type = 'm.direct'", []string{"user_id", "content"}, s.directOf},
		{"event_json", `SELECT j.room_id, j.json FROM room_memberships m JOIN event_json j ON j.event_id = m.event_id
			WHERE m.membership = 'invite' AND j.json LIKE '%"is_direct"%'`, []string{"room_id", "json"}, s.invited},
		{"rooms", "SELECT room_id FROM rooms", []string{"room_id"}, s.room},
		{"room_memberships", synapseMembers, []string{"room_id", "user_id", "joined", "at", "until"}, synapseMember},
		{"receipts_linearized", synapseReceipts, receipts, synapsePointer},
		{"push_rules", `SELECT p.user_name, p.rule_id, p.actions, coalesce(e.enabled, 1) <> 0 AS enabled
			FROM push_rules p LEFT JOIN push_rules_enable e ON e.user_name = p.user_name AND e.rule_id = p.rule_id
			WHERE p.rule_id LIKE 'global/override/!%' OR p.rule_id LIKE 'global/room/!%'`, []string{"user_name", "rule_id", "actions", "enabled"}, synapseMute},
	}, "a Synapse database"); err != nil {
		return err
	}
	if has == nil || has["thread_subscriptions"] {
		if _, err := r.table(ctx, "thread_subscriptions", synapseTimed+`SELECT s.room_id, s.event_id, s.user_id, s.subscribed, s.automatic, t.at
			FROM thread_subscriptions s LEFT JOIN timed t ON t.event_id = s.event_id`,
			[]string{"room_id", "event_id", "user_id", "subscribed", "automatic", "at"}, s.subscription); err != nil {
			return err
		}
	}
	if err := r.all(ctx, []table{{
		"events", synapsePosts, []string{"event_id", "room_id", "sender", "type", "at", "wrong", "redacted_at", "json", "edit", "root_sender"}, s.post,
	}}, "a Synapse database"); err != nil {
		return err
	}
	_, err = s.Source.Rows(ctx, "receipts_linearized", synapseReceipts+" AND r.thread_id IS NULL", func(row *source.Row) error {
		return s.threadsRead(fields{row, &importer.Problems{}}, emit)
	})
	return err
}

// directOf takes the rooms that a user marks as direct.
func (s *Synapse) directOf(f fields, _ *importer.Event) bool {
	var rooms map[string][]string
	if err := json.Unmarshal([]byte(f.Text("content")), &rooms); err != nil {
		f.problems.Add(f.origin(), "m.direct has no lists of rooms: what is no list is left out", f.Text("user_id"))
	}
	for _, list := range rooms {
		for _, room := range list {
			s.direct[room] = true
		}
	}
	return false
}

// invited takes a room with an invitation that is marked as direct.
func (s *Synapse) invited(f fields, _ *importer.Event) bool {
	if content, ok := synapseContent(f, "json"); ok && content.Direct {
		s.direct[f.Text("room_id")] = true
	}
	return false
}

func (s *Synapse) room(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannel, Channel: f.Text("room_id"), Direct: s.direct[f.Text("room_id")]}
	return true
}

func synapseMember(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMember, Channel: f.Text("room_id"), User: f.Text("user_id"), At: f.at("at"), Until: f.at("until")}
	return f.truth("joined")
}

// synapsePointer maps a receipt, which may name any event of the room. It reads all messages up to
// the time of that event.
func synapsePointer(f fields, e *importer.Event) bool {
	if f.Text("at") == "" {
		f.problems.Add(f.origin(), "a receipt for an event that the server does not have, or has from before it came", f.Text("user_id")+" "+f.Text("event_id"))
		return false
	}
	var data struct {
		At int64 `json:"ts"`
	}
	if err := json.Unmarshal([]byte(f.Text("data")), &data); err != nil {
		f.problems.Add(f.origin(), "the data of a receipt is no JSON object: taken as of the time of its event", f.Text("user_id"))
	}
	_, threaded := f.Get("thread_id")
	*e = importer.Event{
		Kind: importer.KindPointer, Channel: f.Text("room_id"), User: f.Text("user_id"), At: f.at("at"), Until: data.At,
		Private: f.Text("receipt_type") == "m.read.private", Thread: f.Text("thread_id"), Whole: !threaded,
	}
	if e.Thread == "main" {
		e.Thread = ""
	}
	return true
}

// threadsRead emits the reads of threads by a receipt without a thread, for the threads that matter
// to its user.
func (s *Synapse) threadsRead(f fields, emit func(importer.Origin, *importer.Event) error) error {
	var e importer.Event
	if _, threaded := f.Get("thread_id"); threaded || !synapsePointer(f, &e) {
		return nil
	}
	for _, thread := range s.inside[e.Channel+"\x00"+e.User] {
		e.Thread = thread
		if err := emit(f.origin(), &e); err != nil {
			return err
		}
	}
	return nil
}

// synapseMute maps a push rule of one room that notifies of nothing.
func synapseMute(f fields, e *importer.Event) bool {
	quiet, err := synapse.Quiet(f.Text("actions"))
	if err != nil {
		f.problems.Add(f.origin(), "the actions of a push rule are no JSON array: taken as not muted", f.Text("user_name"))
		return false
	}
	room, _ := synapse.RoomOf(f.Text("rule_id"))
	*e = importer.Event{Kind: importer.KindMute, Channel: room, User: f.Text("user_name")}
	return f.truth("enabled") && quiet
}

// subscription maps a user's choice to follow a thread, or not to. It has no time, so replies after
// the root count, as far as the user has not read them.
func (s *Synapse) subscription(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindFollow, Channel: f.Text("room_id"), User: f.Text("user_id"), Thread: f.Text("event_id"), At: f.at("at")}
	if !f.truth("subscribed") {
		e.Kind = importer.KindUnfollow
		return true
	}
	s.follow(e.Channel, e.User, e.Thread)
	return !f.truth("automatic")
}
