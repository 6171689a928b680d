package product

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// synapseLive maps changes of a Synapse database. Events never change, so it takes only new rows of
// their tables, and looks up older events that they refer to.
type synapseLive struct {
	Synapse

	spoken memory[bool] // users with a receipt, by room, user and thread
}

// synapseTx has the rows of one transaction, by event.
type synapseTx struct {
	*synapseLive
	tx       *source.Transaction
	problems *importer.Problems
	emit     Emit

	events  []fields
	json    map[string]string
	redacts map[string]string
	members map[string]fields
	mutes   map[[2]string]importer.Origin // users and rules
}

// messageTypes are the types of events that are messages.
const messageTypes = "('m.room.message', 'm.room.encrypted', 'm.sticker', 'm.poll.start', 'org.matrix.msc3381.poll.start')"

// Divisible reports false: an event has rows in several tables.
func (*synapseLive) Divisible() bool { return false }

// Transaction maps a transaction. Synapse writes all rows of an event in one.
func (s *synapseLive) Transaction(ctx context.Context, tx *source.Transaction, p *importer.Problems, emit Emit) error {
	t := &synapseTx{
		synapseLive: s, tx: tx, problems: p, emit: emit,
		json: map[string]string{}, redacts: map[string]string{}, members: map[string]fields{}, mutes: map[[2]string]importer.Origin{},
	}
	s.inside = map[string][]string{} // only an import needs it
	var rest []fields
	for i := range tx.Changes {
		c := &tx.Changes[i]
		f := fields{c.Row, p}
		switch id := f.Text("event_id"); {
		case c.Row.Table == "push_rules" || c.Row.Table == "push_rules_enable":
			t.mutes[[2]string{f.Text("user_name"), f.Text("rule_id")}] = f.origin()
		case c.Kind == source.Removed:
		case c.Row.Table == "events":
			t.events = append(t.events, f)
		case c.Row.Table == "event_json":
			t.json[id] = f.Text("json")
		case c.Row.Table == "redactions":
			t.redacts[id] = f.Text("redacts")
		case c.Row.Table == "room_memberships":
			t.members[id] = f
		default:
			rest = append(rest, f)
		}
	}
	slices.SortStableFunc(t.events, func(a, b fields) int {
		return cmp.Compare(number64(a.Text("stream_ordering")), number64(b.Text("stream_ordering")))
	})
	for _, f := range t.events {
		if err := t.event(ctx, f); err != nil {
			return err
		}
	}
	for _, f := range rest {
		var err error
		switch f.Table {
		case "receipts_linearized":
			err = t.receipt(ctx, f)
		case "thread_subscriptions":
			err = t.subscribed(ctx, f)
		}
		if err != nil {
			return err
		}
	}
	return t.muted(ctx)
}

// event maps a new event.
func (t *synapseTx) event(ctx context.Context, f fields) error {
	id, room := f.Text("event_id"), f.Text("room_id")
	if f.Text("rejection_reason") != "" || number64(f.Text("stream_ordering")) <= 0 {
		return nil
	}
	at, wrong := t.received(f)
	if m, ok := t.members[id]; ok {
		return t.member(ctx, f, m, at)
	}
	if f.truth("outlier") {
		return nil
	}
	if target := t.redacts[id]; target != "" {
		return t.redacted(ctx, f, room, target, at)
	}
	if _, state := f.Get("state_key"); state || !strings.Contains(messageTypes, "'"+f.Text("type")+"'") {
		return nil
	}
	content, ok := synapseContent(fields{source.NewRow("events", f.Number, "event_id", id, "json", t.json[id]), t.problems}, "json")
	if !ok {
		return nil
	}
	if content.Relates.Type == "m.replace" {
		return t.edited(ctx, f, content.Relates.ID, t.json[id], at)
	}
	row := fields{source.NewRow("events", f.Number, "event_id", id, "room_id", room, "sender", f.Text("sender"), "type", f.Text("type"),
		"at", fmt.Sprint(at), "wrong", fmt.Sprint(wrong), "json", t.json[id]), t.problems}
	var e importer.Event
	if !t.post(row, &e) {
		return nil
	}
	var err error
	if e.Explicit, err = t.hasReceipt(ctx, room, e.User, content.Thread()); err != nil {
		return err
	}
	return t.emit(f.origin(), &e)
}

// received returns the time when Synapse received an event. A time before 1973 or ahead of the
// database's clock is wrong; the time of the transaction then replaces it.
func (t *synapseTx) received(f fields) (millis int64, wrong bool) {
	at := number64(f.Text("received_ts"))
	if at == 0 {
		at = number64(f.Text("origin_server_ts"))
	}
	commit := t.tx.Time.UnixMilli()
	if at < 100_000_000_000 || at > commit+time.Minute.Milliseconds() {
		return commit, true
	}
	return at, false
}

// member maps a change of membership. A member who changes their name joins again.
func (t *synapseTx) member(ctx context.Context, f, m fields, at int64) error {
	room, user := m.Text("room_id"), m.Text("user_id")
	if f.truth("outlier") {
		current, err := oneText(ctx, t.Source, "events", "event_id", "SELECT event_id FROM current_state_events WHERE event_id = "+literal(f.Text("event_id")))
		if err != nil || current == "" {
			return err
		}
	}
	was, err := oneText(ctx, t.Source, "events", "membership", fmt.Sprintf(`SELECT m.membership FROM room_memberships m JOIN events e ON e.event_id = m.event_id
		WHERE m.room_id = %s AND m.user_id = %s AND e.stream_ordering < %d AND e.rejection_reason IS NULL
		AND (NOT e.outlier OR EXISTS (SELECT 1 FROM current_state_events c WHERE c.event_id = m.event_id))
		ORDER BY e.stream_ordering DESC LIMIT 1`, literal(room), literal(user), number64(f.Text("stream_ordering"))))
	if err != nil {
		return err
	}
	joined := m.Text("membership") == "join"
	if joined == (was == "join") {
		return nil
	}
	e := importer.Event{Kind: importer.KindLeave, Channel: room, User: user, At: at}
	if joined {
		e.Kind = importer.KindMember
		if e.Direct, err = t.isDirect(ctx, room); err != nil {
			return err
		}
	}
	return t.emit(f.origin(), &e)
}

// isDirect reports whether a member or an invitation marks a room as direct.
func (t *synapseTx) isDirect(ctx context.Context, room string) (bool, error) {
	t.direct = map[string]bool{}
	_, err := t.Source.Rows(ctx, "account_data", `SELECT a.user_id, a.content FROM account_data a WHERE a.account_data_type = 'm.direct'
		AND a.user_id IN (SELECT m.user_id FROM room_memberships m WHERE m.room_id = `+literal(room)+`)`, func(row *source.Row) error {
		t.directOf(fields{row, t.problems}, nil)
		return nil
	})
	if err != nil || t.direct[room] {
		return t.direct[room], err
	}
	_, err = t.Source.Rows(ctx, "event_json", `SELECT j.room_id, j.json FROM room_memberships m JOIN event_json j ON j.event_id = m.event_id
		WHERE m.membership = 'invite' AND m.room_id = `+literal(room)+` AND j.json LIKE '%"is_direct"%'`, func(row *source.Row) error {
		t.invited(fields{row, t.problems}, nil)
		return nil
	})
	return t.direct[room], err
}

// edited maps an edit, or the redaction of an edit: the message gets the content of its newest edit
// that was not redacted by then. own is the JSON of the edit, "" for a redaction. It comes from the
// transaction, because a redaction that the bridge meets later has already removed the edit from
// event_relations.
func (t *synapseTx) edited(ctx context.Context, f fields, target, own string, at int64) error {
	now := number64(f.Text("stream_ordering"))
	edits := fmt.Sprintf(`SELECT o.event_id, o.origin_server_ts, o.sender, j.json
			FROM event_relations r JOIN events o ON o.event_id = r.event_id JOIN event_json j ON j.event_id = r.event_id
			WHERE r.relates_to_id = %s AND r.relation_type = 'm.replace' AND o.rejection_reason IS NULL AND o.stream_ordering < %d
			AND NOT EXISTS (SELECT 1 FROM redactions d JOIN events u ON u.event_id = d.event_id WHERE d.redacts = o.event_id AND u.stream_ordering <= %d)`,
		literal(target), now, now)
	if own != "" {
		edits += fmt.Sprintf(" UNION ALL SELECT %s, %d, %s, %s", literal(f.Text("event_id")), number64(f.Text("origin_server_ts")), literal(f.Text("sender")), literal(own))
	}
	_, err := t.Source.Rows(ctx, "events", `
		SELECT e.event_id, e.room_id, e.sender, e.type, e.received_ts AS at, false AS wrong, NULL AS redacted_at, j.json, x.json AS edit, NULL AS root_sender
		FROM events e JOIN event_json j ON j.event_id = e.event_id
		LEFT JOIN LATERAL (SELECT o.json FROM (`+edits+`) o WHERE o.sender = e.sender ORDER BY o.origin_server_ts DESC, o.event_id DESC LIMIT 1) x ON true
		WHERE e.event_id = `+literal(target)+` AND NOT e.outlier AND e.state_key IS NULL AND e.type IN `+messageTypes, func(row *source.Row) error {
		var e importer.Event
		if !t.post(fields{row, t.problems}, &e) {
			return nil
		}
		e.Kind, e.At, e.Until = importer.KindEdit, at, 0
		return t.emit(f.origin(), &e)
	})
	return err
}

// redacted maps a redaction of a message, or of an edit.
func (t *synapseTx) redacted(ctx context.Context, f fields, room, target string, at int64) error {
	var found, edits string
	_, err := t.Source.Rows(ctx, "events", `SELECT e.event_id, j.json FROM events e JOIN event_json j ON j.event_id = e.event_id
		WHERE e.event_id = `+literal(target)+` AND e.room_id = `+literal(room)+` AND e.state_key IS NULL AND e.type IN `+messageTypes, func(row *source.Row) error {
		found = row.Text("event_id")
		if content, ok := synapseContent(fields{row, t.problems}, "json"); ok && content.Relates.Type == "m.replace" {
			edits = content.Relates.ID
		}
		return nil
	})
	switch {
	case err != nil || found == "":
		return err
	case edits != "":
		return t.edited(ctx, f, edits, "", at)
	}
	return t.emit(f.origin(), &importer.Event{Kind: importer.KindDelete, Channel: room, ID: target, At: at})
}
