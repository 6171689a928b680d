package product

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/synapse"
	"github.com/tidemark/tidemark/importer/source"
)

// receipt maps a receipt, which may name any event of the room. It reads up to the last message
// there.
func (t *synapseTx) receipt(ctx context.Context, f fields) error {
	kind := f.Text("receipt_type")
	if kind != "m.read" && kind != "m.read.private" {
		return nil
	}
	var e importer.Event
	place, err := oneText(ctx, t.Source, "events", "stream_ordering", "SELECT stream_ordering FROM events WHERE event_id = "+literal(f.Text("event_id")))
	if err != nil {
		return err
	}
	if !synapsePointer(fields{f.With("at", place), f.problems}, &e) {
		return nil // counted
	}
	if e.At = 0; number64(place) <= 0 {
		return nil
	}
	_, threaded := f.Get("thread_id")
	e.Threads = !threaded
	if e.ID, err = t.message(ctx, e.Channel, "stream_ordering <= "+place, "DESC", anyMessage); err != nil || e.ID == "" {
		return err
	}
	t.spoken.set(spoken(e.Channel, e.User, f.Text("thread_id")), true)
	return t.pointers(ctx, f.origin(), e, place)
}

// pointers emits what a receipt at a place reads. Messages that the user has posted behind it do
// not read the room, or the thread, any more. So a pointer gets the next message if the user has
// posted behind it, unless another receipt of theirs is further.
func (t *synapseTx) pointers(ctx context.Context, o importer.Origin, e importer.Event, place string) error {
	behind := fmt.Sprintf("stream_ordering > %s AND received_ts <= %d", place, t.tx.Time.UnixMilli())
	var in []string // where they have posted behind it
	_, err := t.message(ctx, e.Channel, behind+" AND sender = "+literal(e.User), "ASC", func(c *synapse.Content) bool {
		if thread := c.Thread(); !slices.Contains(in, thread) && (thread == e.Thread || e.Threads) {
			in = append(in, thread)
		}
		return false
	})
	if err != nil {
		return err
	}
	next := ""
	if len(in) > 0 {
		if next, err = t.message(ctx, e.Channel, behind, "ASC", anyMessage); err != nil {
			return err
		}
	}
	slices.Sort(in) // the room first
	if len(in) == 0 || in[0] != e.Thread {
		if err := t.emit(o, &e); err != nil {
			return err
		}
	}
	for _, thread := range in {
		x := e
		x.Thread, x.Threads, x.Until = thread, e.Threads && thread == "", max(e.Until, t.tx.Time.UnixMilli())
		further, err := t.isFurther(ctx, &x, place)
		if err != nil {
			return err
		}
		if !further {
			x.Next = next
		}
		if err := t.emit(o, &x); err != nil {
			return err
		}
	}
	return nil
}

// isFurther reports whether the user has a receipt behind a place that counts where a pointer is.
func (t *synapseTx) isFurther(ctx context.Context, e *importer.Event, place string) (bool, error) {
	of := e.Thread
	if of == "" {
		of = "main"
	}
	found, err := oneText(ctx, t.Source, "receipts_linearized", "found", fmt.Sprintf(`SELECT 'yes' AS found FROM receipts_linearized r JOIN events e ON e.event_id = r.event_id
		WHERE r.room_id = %s AND r.user_id = %s AND r.receipt_type IN ('m.read', 'm.read.private') AND (r.thread_id IS NULL OR r.thread_id = %s)
		AND e.stream_ordering > %s LIMIT 1`, literal(e.Channel), literal(e.User), literal(of), place))
	return found != "", err
}

func anyMessage(*synapse.Content) bool { return true }

// lookedAt is how many events are read at once to find a message among them.
const lookedAt = 50

// message returns the first message of a room that meets two conditions, one in SQL and one on its
// content. An edit is no message.
func (t *synapseTx) message(ctx context.Context, room, where, order string, of func(*synapse.Content) bool) (id string, err error) {
	for skip := 0; ; skip += lookedAt {
		rows := 0
		_, err := t.Source.Rows(ctx, "events", fmt.Sprintf(`SELECT e.event_id, j.json FROM events e JOIN event_json j ON j.event_id = e.event_id
			WHERE e.room_id = %s AND %s AND e.stream_ordering > 0 AND NOT e.outlier AND e.rejection_reason IS NULL AND e.state_key IS NULL AND e.type IN %s
			ORDER BY e.stream_ordering %s LIMIT %d OFFSET %d`, literal(room), where, messageTypes, order, lookedAt, skip), func(row *source.Row) error {
			rows++
			content, ok := synapseContent(fields{row, t.problems}, "json")
			if id == "" && ok && content.Relates.Type != "m.replace" && of(content) {
				id = row.Text("event_id")
			}
			return nil
		})
		if err != nil || id != "" || rows < lookedAt {
			return id, err
		}
	}
}

func spoken(room, user, thread string) string { return room + "\x00" + user + "\x00" + thread }

// hasReceipt reports whether a user has a receipt that counts in a room or a thread of it.
func (t *synapseTx) hasReceipt(ctx context.Context, room, user, root string) (bool, error) {
	of := root
	if root == "" {
		of = "main"
	}
	for _, thread := range []string{"", of} {
		if has, _ := t.spoken.get(spoken(room, user, thread)); has {
			return true, nil
		}
	}
	found, err := oneText(ctx, t.Source, "events", "found", fmt.Sprintf(`SELECT coalesce(thread_id, '') AS thread, 'yes' AS found FROM receipts_linearized WHERE room_id = %s AND user_id = %s
		AND receipt_type IN ('m.read', 'm.read.private') AND (thread_id IS NULL OR thread_id = %s) LIMIT 1`, literal(room), literal(user), literal(of)))
	if found == "" || err != nil {
		return false, err
	}
	t.spoken.set(spoken(room, user, of), true)
	return true, nil
}

// subscribed maps a user's choice to follow a thread, or not to.
func (t *synapseTx) subscribed(ctx context.Context, f fields) error {
	at, err := oneText(ctx, t.Source, "events", "received_ts", "SELECT coalesce(received_ts, origin_server_ts) AS received_ts FROM events WHERE event_id = "+literal(f.Text("event_id")))
	if err != nil {
		return err
	}
	var e importer.Event
	if !t.subscription(fields{f.With("at", at), f.problems}, &e) {
		return nil
	}
	return t.emit(f.origin(), &e)
}

// muted maps changed push rules, in their current state.
func (t *synapseTx) muted(ctx context.Context) error {
	for of, o := range t.mutes {
		room, ok := synapse.RoomOf(of[1])
		if !ok {
			continue
		}
		e := importer.Event{Kind: importer.KindUnmute, Channel: room, User: of[0]}
		_, err := t.Source.Rows(ctx, "push_rules", `SELECT p.user_name, p.rule_id, p.actions, coalesce(e.enabled, 1) <> 0 AS enabled
			FROM push_rules p LEFT JOIN push_rules_enable e ON e.user_name = p.user_name AND e.rule_id = p.rule_id
			WHERE p.user_name = `+literal(of[0])+` AND p.rule_id IN (`+literals([]string{"global/override/" + room, "global/room/" + room})+")",
			func(row *source.Row) error {
				var found importer.Event
				if synapseMute(fields{row, t.problems}, &found) {
					e.Kind = importer.KindMute
				}
				return nil
			})
		if err != nil {
			return err
		}
		e.At = t.tx.Time.UnixMilli()
		if err := t.emit(o, &e); err != nil {
			return err
		}
	}
	return nil
}
