package product

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// synapseRows returns a small server, as rows of the queries.
func synapseRows() map[string]string {
	post := func(id, kind, rest, json string) string {
		return fmt.Sprintf(`{"event_id":%q,"room_id":"!r","sender":"@ann","type":%q,"at":1700000003000,"wrong":"f","redacted_at":null,"json":%q,"edit":null,"root_sender":null%s}`+"\n", id, kind, json, rest)
	}
	return map[string]string{
		"account_data.ndjson": `{"user_id":"@ann","content":"{\"@bob\":[\"!d\"]}"}` + "\n" + `{"user_id":"@bob","content":"{\"@ann\":\"!r\"}"}`,
		"event_json.ndjson":   `{"room_id":"!i","json":"{\"content\":{\"is_direct\":true}}"}`,
		"rooms.ndjson":        `{"room_id":"!r"}` + "\n" + `{"room_id":"!d"}` + "\n" + `{"room_id":"!i"}`,
		"room_memberships.ndjson": `{"room_id":"!r","user_id":"@ann","joined":"t","at":1700000000000,"until":null}
{"room_id":"!r","user_id":"@bob","joined":"t","at":1700000000001,"until":1700000009000}
{"room_id":"!r","user_id":"@bob","joined":"f","at":1700000009000,"until":null}`,
		"receipts_linearized.ndjson": `{"room_id":"!r","user_id":"@bob","receipt_type":"m.read","event_id":"$1","thread_id":null,"data":"{\"ts\":1700000005000}","at":1700000003000}
{"room_id":"!r","user_id":"@bob","receipt_type":"m.read.private","event_id":"$1","thread_id":"main","data":"{","at":1700000003000}
{"room_id":"!r","user_id":"@bob","receipt_type":"m.read","event_id":"$2","thread_id":"$1","data":"{\"ts\":1700000006000}","at":1700000004000}
{"room_id":"!r","user_id":"@ann","receipt_type":"m.read","event_id":"$gone","thread_id":null,"data":"{}","at":null}`,
		"push_rules.ndjson": `{"user_name":"@ann","rule_id":"global/override/!r","actions":"[]","enabled":"t"}
{"user_name":"@bob","rule_id":"global/room/!r","actions":"[\"dont_notify\"]","enabled":"t"}
{"user_name":"@cem","rule_id":"global/room/!r","actions":"[\"notify\",{\"set_tweak\":\"sound\"}]","enabled":"t"}
{"user_name":"@dee","rule_id":"global/room/!r","actions":"[]","enabled":"f"}
{"user_name":"@eve","rule_id":"global/room/!r","actions":"none","enabled":"t"}`,
		"thread_subscriptions.ndjson": `{"room_id":"!r","event_id":"$1","user_id":"@cem","subscribed":"t","automatic":"f","at":1700000003000}
{"room_id":"!r","event_id":"$1","user_id":"@dee","subscribed":"t","automatic":"t","at":1700000003000}
{"room_id":"!r","event_id":"$1","user_id":"@eve","subscribed":"f","automatic":"f","at":1700000003000}`,
		"events.ndjson": post("$1", "m.room.message", "", `{"content":{"msgtype":"m.text","body":"root","m.mentions":{"user_ids":["@ann","@bob"]}}}`) +
			post("$2", "m.room.message", `,"sender":"@cem","root_sender":"@ann"`, `{"content":{"msgtype":"m.text","body":"a reply","m.relates_to":{"rel_type":"m.thread","event_id":"$1"},"m.mentions":{"user_ids":["@bob"],"room":true}}}`) +
			post("$3", "m.room.message", "", `{"content":{"msgtype":"m.text","body":"* edit","m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}}`) +
			post("$4", "m.room.message", `,"edit":"{\"content\":{\"m.new_content\":{\"body\":\"after\",\"m.mentions\":{\"user_ids\":[\"@dee\"]}}}}"`, `{"content":{"msgtype":"m.notice","body":"before"}}`) +
			post("$5", "m.sticker", "", `{"content":{"body":"cat"}}`) +
			post("$6", "m.room.encrypted", "", `{"content":{"m.relates_to":{"rel_type":"m.thread","event_id":"$5"}}}`) +
			post("$7", "m.room.message", `,"redacted_at":1700000008000`, `{"content":{}}`) +
			post("$10", "m.poll.start", `,"redacted_at":1700000008000`, `{"content":{"m.poll":{"question":{"m.text":[{"body":"when?"}]}}}}`) +
			post("$8", "m.room.message", `,"wrong":"t"`, `{"content":{"msgtype":"m.text","body":7,"m.mentions":[],"m.relates_to":"none"}}`) +
			post("$9", "m.room.message", "", `{"content":`),
	}
}

func TestSynapse(t *testing.T) {
	const at = " at 2023-11-14T22:13:23Z"
	want := []string{
		"channel !r", "channel !d direct", "channel !i direct",
		"member !r @ann at 2023-11-14T22:13:20Z", "member !r @bob at 2023-11-14T22:13:20.001Z until 2023-11-14T22:13:29Z",
		"pointer !r @bob" + at + " until 2023-11-14T22:13:25Z", "pointer !r @bob" + at + " private",
		"pointer !r @bob thread $1 at 2023-11-14T22:13:24Z until 2023-11-14T22:13:26Z",
		"mute !r @ann", "mute !r @bob", "follow !r @cem thread $1" + at, "unfollow !r @eve thread $1" + at,
		"post !r @ann id $1" + at + " text root mentions @bob", "post !r @cem id $2 thread $1" + at + " text a reply mentions @bob all",
		"post !r @ann id $4" + at + " text after mentions @dee silent", "post !r @ann id $5" + at + " text cat quiet",
		"post !r @ann id $6 thread $5" + at, "post !r @ann id $7" + at + " until 2023-11-14T22:13:28Z silent",
		"post !r @ann id $10" + at + " until 2023-11-14T22:13:28Z quiet", "post !r @ann id $8" + at,
		"pointer !r @bob thread $1" + at + " until 2023-11-14T22:13:25Z",
	}
	got, problems, err := events(t, &Synapse{Source: folder(t, synapseRows())})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	reasons := map[string]string{
		"m.direct has no lists of rooms":                  "account_data:2 @bob",
		"a receipt for an event that the server does not": "receipts_linearized:4 @ann $gone",
		"the data of a receipt is no JSON object":         "receipts_linearized:2 @bob",
		"the actions of a push rule are no JSON array":    "push_rules:5 @eve",
		"an event whose JSON is damaged":                  "events:10 $9",
		"a time before 1973 or ahead":                     "events:9 $8",
	}
	for _, p := range problems {
		maps.DeleteFunc(reasons, func(reason, row string) bool {
			return strings.HasPrefix(p.Reason, reason) && p.First[0] == row && p.Count == 1
		})
	}
	if len(problems) != 6 || len(reasons) > 0 {
		t.Errorf("%+v; not there: %v", problems, reasons)
	}
	for table := range synapseRows() {
		without := synapseRows()
		delete(without, table)
		name, _, _ := strings.Cut(table, ".")
		_, _, err := events(t, &Synapse{Source: folder(t, without)})
		if optional := name == "thread_subscriptions"; optional != (err == nil) || !optional && !strings.Contains(err.Error(), "no table "+name) {
			t.Errorf("without %s: %v", table, err)
		}
	}
}

// openSynapse starts a PostgreSQL with the tables of a played server. change first ends the
// previous read, because it would wait for that read's locks.
func openSynapse(t *testing.T, sql string) (change func(sql string), read func(user string) *Synapse) {
	t.Helper()
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, sql)
	var db *source.Postgres
	end := func() {
		if db != nil {
			_ = db.Close(context.Background()) // it has only read
		}
	}
	t.Cleanup(end)
	change = func(sql string) { end(); testkit.SQL(t, dsn, sql) }
	return change, func(user string) *Synapse {
		end()
		var err error
		if db, err = source.OpenPostgres(t.Context(), strings.Replace(dsn, "tidemark@", user+"@", 1)); err != nil {
			t.Fatal(err)
		}
		return &Synapse{Source: db}
	}
}

// The events read from a server's database are the users' actions, even if times of events are
// wrong, members change their names, and relations were redacted.
func TestSynapseOnPostgres(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	s := chats.NewSynapse(begin)
	s.Room("!r:here", "@ann:here", "@bob:here") // minutes 1 and 2
	root := s.Send("!r:here", "@ann:here", chats.Message{Body: "root"})
	s.Membership("!r:here", "@bob:here", "join") // changes the name
	reply := s.Send("!r:here", "@bob:here", chats.Message{Body: "a reply", Thread: root, Mentions: []string{"@ann:here"}})
	react := s.Send("!r:here", "@ann:here", chats.Message{Reacts: reply})
	s.Send("!r:here", "@ann:here", chats.Message{Body: "* stolen", Edits: reply})
	edit := s.Send("!r:here", "@ann:here", chats.Message{Body: "a better root", Edits: root})
	s.Send("!r:here", "@ann:here", chats.Message{Body: "the root", Edits: root})
	s.Redact("@bob:here", reply)
	s.Redact("@ann:here", edit)
	s.Membership("!r:here", "@bob:here", "leave")
	s.Membership("!r:here", "@bob:here", "join")
	s.Read("m.read", "@bob:here", react)
	last := s.Send("!r:here", "@ann:here", chats.Message{Kind: "m.poll.start"})
	sql := s.SQL() + `
UPDATE events SET received_ts = 4102444800000 WHERE event_id = '` + reply + `';
UPDATE events SET received_ts = 5 WHERE event_id = '` + last + `';
CREATE ROLE stranger LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO stranger; REVOKE SELECT ON events, event_json FROM stranger;`
	change, read := openSynapse(t, sql)
	got, problems, err := events(t, read("tidemark"))
	want := []string{
		"channel !r:here", "member !r:here @ann:here at 2026-01-01T00:01:00Z", "member !r:here @bob:here at 2026-01-01T00:02:00Z until 2026-01-01T00:12:00Z",
		"member !r:here @bob:here at 2026-01-01T00:13:00Z", "pointer !r:here @bob:here at 2026-01-01T00:06:00Z until 2026-01-01T00:14:00Z",
		"post !r:here @ann:here id $e3 at 2026-01-01T00:03:00Z text the root",
		"post !r:here @bob:here id $e5 thread $e3 at 2026-01-01T00:04:00.001Z until 2026-01-01T00:10:00Z text a reply mentions @ann:here",
		"post !r:here @ann:here id $e14 at 2026-01-01T00:13:00.001Z quiet", "pointer !r:here @bob:here thread $e3 at 2026-01-01T00:06:00Z until 2026-01-01T00:14:00Z",
	}
	slices.Sort(got[5:8]) // rows have no order
	slices.Sort(want[5:8])
	if err != nil || len(problems) != 1 || problems[0].Count != 2 || !slices.Equal(got, want) {
		t.Errorf("%v, %+v\n%s\nwant\n%s", err, problems, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, _, err := events(t, read("stranger")); err == nil || !strings.Contains(err.Error(), "may not read events, event_json: GRANT SELECT ON events, event_json TO") {
		t.Errorf("without rights: %v", err)
	}
	for _, c := range []struct{ sql, want string }{
		{"DROP TABLE thread_subscriptions", ""},
		{"ALTER TABLE receipts_linearized DROP thread_id", "no column receipts_linearized.thread_id, which Synapse has since version 73 of its schema"},
		{"ALTER TABLE events DROP received_ts", "no column events.received_ts: is it the database of a current Synapse"},
		{"DROP TABLE push_rules, redactions", "no table redactions, push_rules"},
	} {
		change(c.sql)
		if _, _, err := events(t, read("tidemark")); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %s: %v", c.sql, err)
		}
	}
}

// The changes of a user's push rules show which messages came while the user had muted a room. This
// works for users in the query, and for as long as Synapse keeps these changes.
func TestWhileMutedOnSynapse(t *testing.T) {
	s := chats.NewSynapse(1_700_000_000_000)
	s.Room("!r:here", "@ann:here", "@bob:here", "@cem:here")
	s.Room("!s:here", "@ann:here", "@bob:here")
	say := func(room string) string { return s.Send(room, "@ann:here", chats.Message{Body: "words"}) }
	say("!r:here")
	s.Mute("@bob:here", "room", "!r:here", `["dont_notify"]`)
	s.Mute("@cem:here", "override", "!r:here", "[]")
	s.Mute("@bob:here", "override", "!s:here", "[]")
	first, second := say("!r:here"), say("!r:here") // $e7 and $e8
	say("!s:here")
	s.Unmute("@bob:here", "room", "!r:here")
	third := say("!r:here")
	change, read := openSynapse(t, s.SQL()+"CREATE ROLE stranger LOGIN; GRANT SELECT ON push_rules, events TO stranger;")
	muted := func(user string, in map[string][]string) (found []string, unknown string, problems importer.Problems) {
		t.Helper()
		unknown, err := read(user).WhileMuted(t.Context(), in, &problems, func(user, room, id string) error {
			found = append(found, user+" "+room+" "+id)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(found)
		return found, unknown, problems
	}
	asked := map[string][]string{"@bob:here": {"!r:here"}, "@cem:here": {"!r:here"}, "@it's:here": {"!r:here"}}
	bob, cem := []string{"@bob:here !r:here " + first, "@bob:here !r:here " + second}, []string{"@cem:here !r:here " + third, "@cem:here !r:here " + first, "@cem:here !r:here " + second}
	if got, unknown, problems := muted("tidemark", asked); !slices.Equal(got, append(slices.Clone(bob), cem...)) || unknown != "" || len(problems.List()) > 0 {
		t.Errorf("%q, %q, %v", got, unknown, problems.List())
	}
	if got, unknown, _ := muted("stranger", asked); len(got) > 0 || unknown != "the user of --source may not read push_rules_stream: GRANT SELECT ON push_rules_stream TO stranger" {
		t.Errorf("without rights: %q, %q", got, unknown)
	}
	for _, what := range []string{"op = 'ADD'", "true"} {
		change("DELETE FROM push_rules_stream WHERE user_id = '@bob:here' AND " + what)
		got, unknown, problems := muted("tidemark", asked)
		list := problems.List()
		if !slices.Equal(got, cem) || unknown != "" || len(list) != 1 || list[0].Count != 1 || !strings.Contains(list[0].Reason, "older than push_rules_stream") ||
			!strings.HasSuffix(list[0].First[0], "@bob:here global/room/!r:here") {
			t.Errorf("without the changes of which %s: %q, %q, %v", what, got, unknown, list)
		}
	}
	change(`UPDATE push_rules_stream SET actions = '{' WHERE user_id = '@cem:here'`)
	if got, _, problems := muted("tidemark", asked); len(got) > 0 || len(problems.List()) != 2 {
		t.Errorf("actions that are no list: %q, %v", got, problems.List())
	}
	change("DROP TABLE push_rules_stream")
	if got, unknown, _ := muted("tidemark", asked); len(got) > 0 || unknown != "the source has no table push_rules_stream" {
		t.Errorf("without the table: %q, %q", got, unknown)
	}
}

// Versions has whom each version of a message mentioned: of edited messages, and of edits, also of
// redacted ones until Synapse removes their content.
func TestVersionsOfSynapse(t *testing.T) {
	s := chats.NewSynapse(1_700_000_000_000)
	s.Room("!r:here", "@ann:here", "@bob:here")
	s.Room("!s:here", "@ann:here")
	root := s.Send("!r:here", "@bob:here", chats.Message{Body: "root", Mentions: []string{"@never:here"}})
	reply := s.Send("!r:here", "@ann:here", chats.Message{Body: "reply", Thread: root, Mentions: []string{"@first:here"}})
	edit := func(mentioned string) string {
		return s.Send("!r:here", "@ann:here", chats.Message{Body: "edited", Edits: reply, Mentions: []string{mentioned}})
	}
	edit("@second:here")
	for _, mentioned := range []string{"@redacted:here", "@censored:here"} {
		s.Redact("@ann:here", edit(mentioned))
	}
	s.Send("!r:here", "@bob:here", chats.Message{Body: "edited", Edits: reply, Mentions: []string{"@stranger:here"}})
	s.Send("!s:here", "@ann:here", chats.Message{Body: "edited", Edits: s.Send("!s:here", "@ann:here", chats.Message{Body: "words"})})
	change, read := openSynapse(t, s.SQL())
	change(`UPDATE event_json SET json = '{"content": {}}' WHERE json LIKE '%@censored%'`)
	var got []string
	if err := read("tidemark").Versions(t.Context(), []string{"!r:here"}, func(e *importer.Event) error {
		got = append(got, fmt.Sprintf("%d %s %s by %s: %q", e.Kind, e.Channel, e.ID, e.User, e.Mentions))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	var want []string
	for _, by := range []string{"@ann:here: [\"@first:here\"]", "@ann:here: [\"@redacted:here\"]", "@ann:here: [\"@second:here\"]", "@bob:here: [\"@stranger:here\"]"} {
		want = append(want, fmt.Sprintf("%d !r:here %s by %s", importer.KindEdit, reply, by))
	}
	got = slices.DeleteFunc(got, func(l string) bool { return strings.HasSuffix(l, ": []") }) // the censored one names no message
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// The numbers are those of /sync: valid summaries, and the actions after them, with threads apart.
func TestNumbersOfSynapse(t *testing.T) {
	s := chats.NewSynapse(1_700_000_000_000)
	s.Room("!r:here", "@ann:here", "@bob:here", "@cem:here")
	root := s.Send("!r:here", "@ann:here", chats.Message{Body: "root"})
	for range 3 {
		s.Send("!r:here", "@ann:here", chats.Message{Body: "more", Mentions: []string{"@bob:here"}})
	}
	s.Rotate()
	s.Sweep()
	s.Send("!r:here", "@ann:here", chats.Message{Body: "later"})
	reply := s.Send("!r:here", "@ann:here", chats.Message{Body: "reply", Thread: root})
	s.Send("!r:here", "@ann:here", chats.Message{Body: "reply", Thread: root})
	s.Read("m.read", "@cem:here", reply, root)
	s.Membership("!r:here", "@cem:here", "leave")
	s.Membership("!r:here", "@cem:here", "join")
	_, read := openSynapse(t, s.SQL())
	const ann, bob, cem = "@ann:here !r:here: 0 0", "@bob:here !r:here $e4: 2 0, @bob:here !r:here: 5 3", "@cem:here !r:here $e4: 0 0, @cem:here !r:here: 0 0"
	if got, problems, err := numbers(t, read("tidemark")); err != nil || len(problems) > 0 || got != ann+", "+bob+", "+cem {
		t.Errorf("%q, %v, %v", got, problems, err)
	}
	if got, _, err := numbers(t, read("tidemark"), "@bob:here"); err != nil || got != bob {
		t.Errorf("of one: %q, %v", got, err)
	}
}

// The statements of heal raise and lower a number, whether Synapse has summed up its messages or
// not.
func TestHealedNumbersOfSynapse(t *testing.T) {
	const room, ann, bob = "!r:here", "@ann:here", "@bob:here"
	s := chats.NewSynapse(1_700_000_000_000)
	s.Room(room, ann, bob)
	s.Send(room, ann, chats.Message{Body: "summed up"})
	s.Send(room, ann, chats.Message{Body: "summed up"})
	s.Rotate()
	for range 3 {
		s.Send(room, ann, chats.Message{Body: "later"})
	}
	change, read := openSynapse(t, s.SQL())
	is := int64(5)
	for _, want := range []int64{7, 4, 3, 2, 0, 1} {
		change(SynapseHealPrologue + SynapseHeal(bob, room, "", is, want))
		is = want
		if got, _, err := numbers(t, read("tidemark"), bob); err != nil || got != fmt.Sprintf("%s %s: %d 0", bob, room, want) {
			t.Errorf("want %d: %q, %v", want, got, err)
		}
	}
}
