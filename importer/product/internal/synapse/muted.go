package synapse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/needs"
	"github.com/tidemark/tidemark/importer/product/internal/quote"
	"github.com/tidemark/tidemark/importer/source"
)

// mutedNeeds is the table that says when push rules changed. Only the explanation of some
// differences needs it, so a comparison does without if it may not read it.
var mutedNeeds = []needs.Table{
	{Name: "push_rules_stream", Columns: "stream_id event_stream_ordering user_id rule_id op actions", Optional: true},
}

// changes selects the changes of push rules in order. A rule that is older than the table, or whose
// rows were removed, has one row without an operation.
const changes = `SELECT s.user_id, s.rule_id, s.op, s.actions, s.event_stream_ordering, s.stream_id
	FROM push_rules_stream s WHERE s.user_id IN ({of})
UNION ALL SELECT p.user_name, p.rule_id, '', NULL, 0, 0
	FROM push_rules p WHERE p.user_name IN ({of}) AND NOT EXISTS (SELECT 1 FROM push_rules_stream s WHERE s.user_id = p.user_name AND s.rule_id = p.rule_id)
ORDER BY stream_id`

// roomOfUser is a user in a room.
type roomOfUser struct{ user, room string }

// WhileMuted calls emit for each event of a room that came while a user had muted the room, for the
// rooms of each user. It returns what it could not read, "" for nothing. Rules whose beginning is
// not known are problems.
func WhileMuted(ctx context.Context, from source.Tables, in map[string][]string, p *importer.Problems, emit func(user, room, id string) error) (unknown string, err error) {
	has, err := needs.Check(ctx, from, "Synapse", mutedNeeds)
	var lack needs.LackError
	switch {
	case errors.As(err, &lack):
		return lack.Error(), nil
	case err != nil:
		return "", err
	}
	if has != nil && !has["push_rules_stream"] {
		return "the source has no table push_rules_stream", nil
	}
	by, err := changesOf(ctx, from, in, p)
	if err != nil {
		return "", err
	}
	users := map[string]map[string][]span{} // by room
	for of, list := range by {
		if ranges := spans(list); len(ranges) > 0 {
			if users[of.room] == nil {
				users[of.room] = map[string][]span{}
			}
			users[of.room][of.user] = ranges
		}
	}
	for _, room := range slices.Sorted(maps.Keys(users)) {
		if err := eventsOf(ctx, from, room, users[room], emit); err != nil {
			return "", err
		}
	}
	return "", nil
}

// changesOf reads the changes of the rules of these users for these rooms.
func changesOf(ctx context.Context, from source.Tables, in map[string][]string, p *importer.Problems) (map[roomOfUser][]change, error) {
	users := quote.Literals(slices.Sorted(maps.Keys(in)))
	by, seen := map[roomOfUser][]change{}, map[[2]string]bool{}
	_, err := from.Rows(ctx, "push_rules_stream", strings.ReplaceAll(changes, "{of}", users), func(row *source.Row) error {
		user, id, op := row.Text("user_id"), row.Text("rule_id"), row.Text("op")
		room, ok := RoomOf(id)
		if !ok || !slices.Contains(in[user], room) {
			return nil
		}
		origin := importer.Origin{Table: row.Table, Row: row.Number}
		c := change{rule: id, op: op}
		var err error
		if c.at, err = strconv.ParseInt(row.Text("event_stream_ordering"), 10, 64); err != nil {
			p.Add(origin, "a change of a push rule without a place among the events: left out", user+" "+id)
			return nil //nolint:nilerr // it is reported, and left out
		}
		if op == "ADD" || op == "ACTIONS" {
			if c.quiet, err = Quiet(row.Text("actions")); err != nil {
				p.Add(origin, "the actions of a changed push rule are no JSON array: taken as not muted", user+" "+id)
			}
		}
		if !seen[[2]string{user, id}] && op != "ADD" {
			p.Add(origin, "a push rule is older than push_rules_stream: if it once muted the room, what came then may be called stale", user+" "+id)
		}
		seen[[2]string{user, id}] = true
		by[roomOfUser{user, room}] = append(by[roomOfUser{user, room}], c)
		return nil
	})
	return by, err
}

// eventsOf emits the events of a room in the ranges of each user.
func eventsOf(ctx context.Context, from source.Tables, room string, users map[string][]span, emit func(user, room, id string) error) error {
	all := span{users[slices.Sorted(maps.Keys(users))[0]][0].after, 0}
	for _, ranges := range users {
		all.after, all.last = min(all.after, ranges[0].after), max(all.last, ranges[len(ranges)-1].last)
	}
	query := fmt.Sprintf("SELECT event_id, stream_ordering FROM events WHERE room_id = %s AND stream_ordering > %d AND stream_ordering <= %d",
		quote.Literal(room), all.after, all.last)
	_, err := from.Rows(ctx, "events", query, func(row *source.Row) error {
		at, err := strconv.ParseInt(row.Text("stream_ordering"), 10, 64)
		if err != nil {
			return nil //nolint:nilerr // it has no place, so nobody had muted it
		}
		for user, ranges := range users {
			if slices.ContainsFunc(ranges, func(s span) bool { return s.has(at) }) {
				if err := emit(user, room, row.Text("event_id")); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return err
}
