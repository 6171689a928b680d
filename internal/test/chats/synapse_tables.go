package chats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// synapseTables are the tables and columns of Synapse that an import or a bridge reads.
const synapseTables = `
CREATE TABLE rooms (room_id text PRIMARY KEY, is_public boolean, creator text);
CREATE TABLE events (stream_ordering bigint PRIMARY KEY, topological_ordering bigint, event_id text UNIQUE, type text, room_id text, sender text, state_key text,
	origin_server_ts bigint, received_ts bigint, outlier boolean NOT NULL, rejection_reason text);
CREATE TABLE event_json (event_id text UNIQUE, room_id text, internal_metadata text, json text, format_version int);
CREATE TABLE event_relations (event_id text UNIQUE, relates_to_id text, relation_type text, aggregation_key text);
CREATE TABLE redactions (event_id text UNIQUE, redacts text, have_censored boolean, received_ts bigint);
CREATE TABLE room_memberships (event_id text UNIQUE, user_id text, sender text, room_id text, membership text, forgotten int DEFAULT 0, event_stream_ordering bigint);
CREATE TABLE current_state_events (event_id text UNIQUE, room_id text, type text, state_key text, membership text);
CREATE TABLE local_current_membership (room_id text, user_id text, event_id text, membership text, UNIQUE (user_id, room_id));
CREATE TABLE state_groups (id bigint PRIMARY KEY, room_id text, event_id text);
CREATE TABLE receipts_linearized (stream_id bigint, instance_name text, room_id text, receipt_type text, user_id text, event_id text, event_stream_ordering bigint,
	thread_id text, data text);
CREATE TABLE account_data (user_id text, account_data_type text, stream_id bigint, content text, UNIQUE (user_id, account_data_type));
CREATE TABLE push_rules (id bigint PRIMARY KEY, user_name text, rule_id text, priority_class int, priority int, conditions text, actions text);
CREATE TABLE push_rules_enable (id bigint PRIMARY KEY, user_name text, rule_id text, enabled smallint);
CREATE TABLE push_rules_stream (stream_id bigint, event_stream_ordering bigint, user_id text, rule_id text, op text, priority_class smallint, priority int,
	conditions text, actions text, instance_name text);
CREATE TABLE thread_subscriptions (stream_id int PRIMARY KEY, instance_name text, room_id text, event_id text, user_id text, subscribed boolean, automatic boolean);
CREATE TABLE event_push_actions (room_id text, event_id text, user_id text, profile_tag text, actions text, topological_ordering bigint, stream_ordering bigint,
	notif smallint, highlight smallint, unread smallint, thread_id text);
CREATE TABLE event_push_summary (user_id text, room_id text, notif_count bigint, stream_ordering bigint, unread_count bigint, last_receipt_stream_ordering bigint,
	thread_id text);
CREATE TABLE event_push_summary_stream_ordering (lock char(1) PRIMARY KEY DEFAULT 'X', stream_ordering bigint);
`

// SQL returns statements that make the tables with their rows.
func (s *Synapse) SQL() string { return synapseTables + inserts(s.rows()) }

// rows returns the rows of all tables.
func (s *Synapse) rows() map[string][]string {
	rows := map[string][]string{"event_push_summary_stream_ordering": {values("X", s.rotated)}, "thread_subscriptions": s.follows, "push_rules_stream": s.changed}
	add := func(table string, fields ...any) { rows[table] = append(rows[table], values(fields...)) }
	for _, r := range s.rooms {
		add("rooms", r.id, false, nil)
		for _, user := range slices.Sorted(maps.Keys(r.current)) {
			e := r.current[user]
			add("local_current_membership", r.id, user, e.id, e.membership)
			add("current_state_events", e.id, r.id, e.kind, user, e.membership)
		}
	}
	for _, e := range s.events {
		s.addEvent(e, add)
	}
	for _, r := range s.receipts {
		var thread any
		if r.thread != nil {
			thread = *r.thread
		}
		add("receipts_linearized", r.stream, "master", r.room, r.kind, r.user, r.event.id, r.event.stream, thread, fmt.Sprintf(`{"ts":%d}`, r.at))
	}
	for i, user := range slices.Sorted(maps.Keys(s.direct)) {
		content, _ := json.Marshal(map[string][]string{"@other:here": s.direct[user]})
		add("account_data", user, "m.direct", i, string(content))
	}
	for i, m := range s.muted {
		add("push_rules", i, m[0], m[1], 5, 0, "[]", m[2])
		if s.unmuted[m[0]+" "+m[1]] {
			add("push_rules_enable", i, m[0], m[1], 0)
		}
	}
	for _, p := range s.pushes {
		if !p.gone {
			add("event_push_actions", p.room, p.event.id, p.user, nil, "[]", 1, p.event.stream, number(p.notif), number(p.highlight), 0, p.thread)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.summaries), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.room, b.room), cmp.Compare(a.thread, b.thread))
	}) {
		var last any
		sum := s.summaries[at]
		if sum.last > 0 {
			last = sum.last
		}
		add("event_push_summary", at.user, at.room, sum.count, sum.stream, 0, last, at.thread)
	}
	return rows
}

func (s *Synapse) addEvent(e *event, add func(string, ...any)) {
	var key any
	if e.member != "" {
		key = e.member
		add("room_memberships", e.id, e.member, e.sender, e.room, e.membership, 0, e.stream)
	}
	add("events", e.stream, 1, e.id, e.kind, e.room, e.sender, key, e.received-5, e.received, e.outlier, nil)
	text, _ := json.Marshal(map[string]any{"type": e.kind, "sender": e.sender, "content": e.content}) // strings only: never fails
	add("event_json", e.id, e.room, "{}", string(text), 3)
	if e.relates != "" {
		add("event_relations", e.id, e.relates, e.relation, nil)
	}
	if e.redacts != "" {
		add("redactions", e.id, e.redacts, false, e.received)
	}
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// values returns a row of literals.
func values(fields ...any) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		switch x := f.(type) {
		case nil:
			parts[i] = "NULL"
		case string:
			parts[i] = "'" + strings.ReplaceAll(x, "'", "''") + "'"
		default:
			parts[i] = fmt.Sprint(x)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// inserts returns statements that insert rows, by table.
func inserts(rows map[string][]string) string {
	var b strings.Builder
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		if len(rows[table]) > 0 {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES %s;\n", table, strings.Join(rows[table], ",\n"))
		}
	}
	return b.String()
}

func (s *Synapse) room(id string) *room {
	return s.rooms[slices.IndexFunc(s.rooms, func(r *room) bool { return r.id == id })]
}

func (s *Synapse) event(id string) *event {
	i := slices.IndexFunc(s.events, func(e *event) bool { return e.id == id })
	if i < 0 {
		return nil
	}
	return s.events[i]
}
