package main

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// begun is when the stories of the pages begin: their output is the same each time.
const begun = 1_780_000_000_000

// shown fails if a page lacks a line of an output. Times that a verb took, and the numbers of rows,
// which have no order, are not compared.
func shown(t *testing.T, page, out string) {
	t.Helper()
	text := document(t, page)
	for _, line := range lines(out) {
		if !strings.HasPrefix(line, "took") && !strings.HasPrefix(line, "    ") && !strings.Contains(text, line+"\n") {
			t.Errorf("%s has another output than\n%s", page, out)
			return
		}
	}
}

// A workspace's export is imported as the page shows it. There is nothing to compare.
func TestImportSlack(t *testing.T) {
	dir := t.TempDir()
	must(chats.PlaySlack(rand.New(rand.NewPCG(7, 41)), begun, 120).Write(dir))
	shown(t, "docs/import/slack.md", ok(t, "", "import", "slack", "--source", dir, "--dry-run"))
	for want, args := range map[string][]string{
		"a Slack export has no unread counts":       {"compare", "slack", "--source", dir},
		"--source of slack must be the unpacked":    {"import", "slack", "--source", "postgres://h/d"},
		"there is nothing to compare or to correct": {"heal", "slack", "--source", dir},
	} {
		if r := tidemark(t, "", args...); r.code != exitUsage || !strings.Contains(r.errout, want) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// rocketSubscription is a row of rocketchat_subscription. Times are minutes since ten days ago, 0
// is none.
type rocketSubscription struct {
	room, user            string
	joined, seen          float64
	alert                 bool
	unread, named, called int
}

// rocketChat writes the dump of a server on which everything happened that is known to go wrong.
func rocketChat(dir string, begin time.Time, subscriptions []*rocketSubscription) {
	at := func(minutes float64) any {
		if minutes == 0 {
			return nil
		}
		return begin.Add(time.Duration(minutes * float64(time.Minute)))
	}
	message := func(id, room, user string, minutes float64, more ...bson.E) bson.D {
		return append(bson.D{
			{Key: "_id", Value: id}, {Key: "rid", Value: room}, {Key: "u", Value: bson.D{{Key: "_id", Value: user}}}, {Key: "ts", Value: at(minutes)}, {Key: "msg", Value: id},
		}, more...)
	}
	names := func(users ...string) bson.E {
		var list bson.A
		for _, u := range users {
			list = append(list, bson.D{{Key: "_id", Value: u}, {Key: "type", Value: "user"}})
		}
		return bson.E{Key: "mentions", Value: list}
	}
	dump := map[string][]bson.D{
		"rocketchat_room": {{{Key: "_id", Value: "c1"}, {Key: "t", Value: "c"}}, {{Key: "_id", Value: "d1"}, {Key: "t", Value: "d"}}, {{Key: "_id", Value: "d2"}, {Key: "t", Value: "d"}}},
		"rocketchat_message": {
			message("m1", "c1", "zoe", 1, bson.E{Key: "tcount", Value: 2}, bson.E{Key: "tlm", Value: at(6)}, bson.E{Key: "replies", Value: bson.A{"zoe"}}),
			message("r1", "c1", "zoe", 1.5, bson.E{Key: "tmid", Value: "m1"}, bson.E{Key: "tshow", Value: true}), message("m2", "c1", "zoe", 2),
			message("m3", "c1", "zoe", 3, bson.E{Key: "t", Value: "rm"}, bson.E{Key: "editedAt", Value: at(20)}), message("m4", "c1", "zoe", 4),
			message("m5", "c1", "fay", 5, bson.E{Key: "t", Value: "uj"}), message("r2", "c1", "zoe", 6, bson.E{Key: "tmid", Value: "m1"}),
			message("m6", "c1", "zoe", 8, names("bob")), message("m7", "c1", "gus", 9),
			message("x1", "d1", "ann", 1), message("x2", "d1", "ann", 2, names("bob")), message("y1", "d2", "cem", 1), message("y2", "d2", "cem", 2, names("dee")),
		},
		"rocketchat_settings": {
			{{Key: "_id", Value: "Unread_Count"}, {Key: "value", Value: "all_messages"}},
			{{Key: "_id", Value: "Unread_Count_DM"}, {Key: "value", Value: "user_and_group_mentions_only"}},
		},
	}
	for _, s := range subscriptions {
		dump["rocketchat_subscription"] = append(dump["rocketchat_subscription"], bson.D{
			{Key: "rid", Value: s.room}, {Key: "u", Value: bson.D{{Key: "_id", Value: s.user}}}, {Key: "ts", Value: at(s.joined)}, {Key: "ls", Value: at(s.seen)},
			{Key: "alert", Value: s.alert}, {Key: "unread", Value: s.unread}, {Key: "userMentions", Value: s.named}, {Key: "groupMentions", Value: s.called},
		})
	}
	must(chats.WriteDump(dir, dump))
}

// The known defects of Rocket.Chat land in their buckets, and heal's statements mend its counters.
func TestHealRocketChat(t *testing.T) {
	dir, begin := t.TempDir(), time.Now().Add(-10*24*time.Hour).Truncate(time.Millisecond)
	subscriptions := []*rocketSubscription{
		{"c1", "ann", 0.5, 2.1, true, 4, 0, 0}, {"c1", "bob", 0.5, 1.1, true, 5, 1, 0}, {"c1", "cem", 0.5, 9, false, -1, 0, 0}, {"c1", "dee", 0.5, 1.1, true, 4, 0, 0},
		{"c1", "eve", 0.5, 4, true, 0, 0, 0}, {"c1", "fay", 3.5, 0, true, 5, 0, 0}, {"c1", "gus", 0.5, 0, true, 5, 0, 0}, {"c1", "hal", 0.5, 2.1, false, 0, 0, 0},
		{"c1", "ivy", 0.5, 8.1, true, 1, 1, 0}, {"c1", "jon", 0.5, 2.1, true, 3, 5, 0}, {"c1", "zoe", 0.5, 9, false, 0, 0, 0},
		{"d1", "ann", 0.5, 2, false, 0, 0, 0}, {"d1", "bob", 0.5, 0, true, 1, 1, 0}, {"d2", "cem", 0.5, 2, false, 0, 0, 0}, {"d2", "dee", 0.5, 0, true, 0, 0, 0},
	}
	rocketChat(dir, begin, subscriptions)
	s := stack(t)
	args := []string{"rocketchat", "--source", dir, "--brokers", s.Broker}
	shown(t, "docs/import/rocketchat.md", ok(t, "", append([]string{"import"}, args...)...))
	args = append(args, "--addr", s.URL)
	shown(t, "docs/import/rocketchat.md", strings.Join(compared(t, append(args, "--all")...), "\n"))
	left := []string{
		"bob d1: theirs 1 (1 @), ours 2 (1 @): policy: it counts only mentions: the setting Unread_Count, or that of this kind of room",
		"dee c1: theirs 4, ours 5: policy: 1 less: replies that are also in the room",
		"eve c1: theirs 0, ours 3: policy: 3 less: marked as unread, which Rocket.Chat shows in bold without a number",
		"fay c1: theirs 5, ours 3: policy: 2 from before they joined",
		"gus c1: theirs 5, ours 0: policy: 5 before a message of their own: Rocket.Chat waits for a view",
		"ivy c1: theirs 1 (1 @), ours 1: policy: mentions by highlights and of teams are not in its messages",
	}
	want := append([]string{
		"ann c1: theirs 4, ours 3: theirs_wrong: 1 deleted, but counted",
		"cem c1: theirs -1, ours 0: theirs_wrong: negative",
		"dee d2: theirs 0, ours 2 (1 @): theirs_wrong: stale: their own rows have 1 that mention the user",
		"hal c1: theirs 0, ours 3: theirs_wrong: stale: their own rows have 3",
		"jon c1: theirs 3 (5 @), ours 3: theirs_wrong: 5 mentions in 3 unread messages",
	}, left...)
	slices.Sort(want)
	if got := verdicts(t, args...); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	heal := tidemark(t, "", append([]string{"heal"}, args...)...)
	shown(t, "docs/import/rocketchat.md", heal.errout+strings.Join(lines(heal.out)[:3], "\n"))
	left = append(left, "dee d2: theirs 1 (1 @), ours 2 (1 @): policy: it counts only mentions: the setting Unread_Count, or that of this kind of room")
	slices.Sort(left)
	for range 2 { // the second time nothing is as it was compared
		mongosh(t, heal.out, subscriptions)
		rocketChat(dir, begin, subscriptions)
		if got := verdicts(t, args...); !slices.Equal(got, left) {
			t.Errorf("after\n%s\ngot\n%s\nwant\n%s", heal.out, strings.Join(got, "\n"), strings.Join(left, "\n"))
		}
	}
	if r := tidemark(t, "", append([]string{"heal"}, args...)...); r.code != exitDone || r.out != "" {
		t.Errorf("healing once more: %+v", r)
	}
}

var updateOne = regexp.MustCompile(`(?m)^subscriptions\.updateOne\((\{.*?\}), (\{"\$set":\{.*?\}\})\);$`)

// mongosh runs the statements of heal: no MongoDB is to be had where tests run.
func mongosh(t *testing.T, script string, subscriptions []*rocketSubscription) {
	t.Helper()
	if begins, ends := strings.Count(script, "session.startTransaction();\n"), strings.Count(script, "\nsession.commitTransaction();\n"); begins != 1 || ends != 1 {
		t.Errorf("%d transactions begin, %d end:\n%s", begins, ends, script)
	}
	for _, m := range updateOne.FindAllStringSubmatch(script, -1) {
		var filter struct {
			Room   string `json:"rid"`
			User   string `json:"u._id"`
			Unread int    `json:"unread"`
		}
		var update struct {
			Set struct {
				Unread        int
				UserMentions  int
				GroupMentions int
				Alert         bool
			} `json:"$set"`
		}
		must(errors.Join(json.Unmarshal([]byte(m[1]), &filter), json.Unmarshal([]byte(m[2]), &update)))
		for _, s := range subscriptions {
			if s.room == filter.Room && s.user == filter.User && s.unread == filter.Unread {
				s.unread, s.named, s.called, s.alert = update.Set.Unread, update.Set.UserMentions, update.Set.GroupMentions, update.Set.Alert
			}
		}
	}
	if n := len(updateOne.FindAllString(script, -1)); n != strings.Count(script, "updateOne") {
		t.Errorf("%d statements in\n%s", n, script)
	}
}

// The numbers of Zulip are those of its flags: only its stated differences are left.
func TestCompareZulip(t *testing.T) {
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, chats.ZulipTables+`
CREATE FUNCTION at(n int) RETURNS timestamptz AS $$ SELECT now() - interval '120 days' + n * interval '1 day' $$ LANGUAGE sql;
INSERT INTO zerver_recipient VALUES (11, 1, 2), (12, 2, 2), (13, 1, 3), (21, 1, 1), (22, 2, 1), (23, 3, 1);
INSERT INTO zerver_stream VALUES (1, 11, false, at(0)), (2, 12, true, at(0));
INSERT INTO zerver_userprofile VALUES (1, false, NULL), (2, false, NULL), (3, false, NULL), (4, true, 112);
INSERT INTO zerver_realmauditlog (event_type, event_time, modified_user_id, modified_stream_id)
	SELECT 301, at(1), u, 1 FROM generate_series(1, 4) u UNION ALL SELECT 303, at(107) + interval '1 hour', 3, 1 UNION ALL SELECT 302, at(108) + interval '1 hour', 3, 1 UNION ALL SELECT 602, at(119), NULL, 2;
INSERT INTO zerver_subscription (recipient_id, user_profile_id, active) SELECT 11, u, true FROM generate_series(1, 4) u UNION ALL VALUES (12, 1, true), (13, 1, true), (13, 2, true);
INSERT INTO zerver_message SELECT n, 1 + n % 2, 11, 'topic', 'text', at(n), 1 FROM generate_series(100, 117) n;
INSERT INTO zerver_message VALUES (118, 1, 13, '', 'of a group', at(118), 1), (119, 2, 21, '', 'psst', at(118), 1), (120, 2, 12, 't', 'closed', at(118), 1);
INSERT INTO zerver_message VALUES (3, 1, 11, 'topic', 'very old', at(3), 1), (4, 1, 11, 'topic', 'very old', at(4), 1);
INSERT INTO zerver_usermessage (user_profile_id, message_id, flags)
	SELECT 1, n, CASE WHEN n % 2 = 0 OR n IN (103, 109, 111) THEN 1 WHEN n = 113 THEN 8 WHEN n = 115 THEN 16 ELSE 0 END FROM generate_series(100, 117) n
	UNION ALL SELECT 2, n, 1 FROM generate_series(100, 117) n
	UNION ALL SELECT 3, n, 0 FROM generate_series(100, 107) n UNION ALL SELECT 3, n, CASE WHEN n = 115 THEN 16 ELSE 0 END FROM generate_series(109, 117) n
	UNION ALL SELECT 4, n, 0 FROM generate_series(100, 112) n
	UNION ALL VALUES (2, 118, 0), (1, 118, 1), (1, 119, 2048), (2, 119, 2049), (1, 120, 0), (1, 3, 1), (2, 3, 0), (1, 4, 1), (2, 4, 1);
`)
	s := stack(t)
	args := []string{"zulip", "--source", dsn, "--brokers", s.Broker}
	shown(t, "docs/import/zulip.md", ok(t, "", append([]string{"import"}, args...)...))
	args = append(args, "--addr", s.URL, "--all")
	r := tidemark(t, "", append([]string{"compare"}, args...)...)
	shown(t, "docs/import/zulip.md", r.out)
	if r.code != exitDone {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.errout)
	}
}

// The known defects of Tinode land in their buckets. Heal's statements move the pointers. What then
// remains follows an unread message, so no pointer leaves it out.
func TestHealTinode(t *testing.T) {
	const follows = ": their number has all that follows the first unread message"
	left := []string{
		"201 grpA: theirs 4, ours 1: not_comparable: 1 deleted, but counted, 2 edits, or gone, but counted" + follows,
		"202 grpB: theirs 1, ours 0: policy: 1 of their own",
	}
	want := append([]string{
		"208 grpA: theirs 5, ours 1: theirs_wrong: 1 deleted, but counted, 2 edits, or gone, but counted, 1 deleted by themselves, but counted",
		"202 grpA: theirs 3, ours 0: theirs_wrong: 1 deleted, but counted, 2 edits, or gone, but counted",
		"203 grpA: theirs -3, ours 0: theirs_wrong: negative",
		"204 grpA: theirs 12, ours 0: theirs_wrong: 1 deleted, but counted, 1 edits, or gone, but counted, 10 from before they joined",
		"206 grpA: theirs 4, ours 0: theirs_wrong: 1 deleted, but counted, 2 edits, or gone, but counted, 1 deleted by themselves, but counted",
	}, left...)
	left = append(left, "208 grpA: theirs 4, ours 1: not_comparable: 1 deleted, but counted, 2 edits, or gone, but counted"+follows)
	slices.Sort(want)
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, chats.TinodeTables+`
CREATE FUNCTION at(n numeric) RETURNS timestamp AS $$ SELECT (now() AT TIME ZONE 'UTC') - interval '10 days' + n * interval '1 minute' $$ LANGUAGE sql;
INSERT INTO topics (createdat, name, seqid) VALUES (at(0), 'grpA', 12), (at(0), 'grpB', 2), (at(0), 'p2pX', 2);
INSERT INTO messages (createdat, seqid, topic, "from", head, content) SELECT at(n), n, 'grpA', 209, CASE n WHEN 12 THEN '{"replace": ":3"}' END::json, '"text"'
	FROM generate_series(1, 12) n WHERE n NOT IN (10, 11);
INSERT INTO messages (createdat, deletedat, seqid, topic, "from") VALUES (at(11), at(20), 11, 'grpA', 0);
INSERT INTO messages (createdat, seqid, topic, "from", content) VALUES (at(1), 1, 'grpB', 201, '"one"'), (at(2), 2, 'grpB', 202, '"two"'), (at(1), 1, 'p2pX', 201, '"psst"'), (at(2), 2, 'p2pX', 201, '"!"');
INSERT INTO dellog (topic, deletedfor, delid, low, hi) VALUES ('grpA', 206, 1, 9, 10), ('grpA', 0, 2, 10, 11), ('grpA', 208, 1, 8, 9);
INSERT INTO subscriptions (createdat, updatedat, deletedat, userid, topic, readseqid, modewant) VALUES
	(at(0.5), at(30), NULL, 201, 'grpA', 8, 'JRWPS'), (at(0.5), at(30), NULL, 202, 'chnA', 9, 'JRP'), (at(0.5), at(30), NULL, 203, 'grpA', 15, 'JRWPS'),
	(at(9.5), at(30), NULL, 204, 'grpA', 0, 'JRWPS'), (at(0.5), at(30), NULL, 206, 'grpA', 8, 'JRWPS'), (at(0.5), at(30), at(30), 207, 'grpA', 2, 'JRWPS'),
	(at(0.5), at(30), NULL, 208, 'grpA', 7, 'JRWPS'),
	(at(0.5), at(30), NULL, 209, 'grpA', 12, 'JRWPS'), (at(0.5), at(30), NULL, 201, 'grpB', 2, 'JRWPS'), (at(0.5), at(30), NULL, 202, 'grpB', 1, 'JRWPS'),
	(at(0.5), at(30), NULL, 201, 'p2pX', 2, 'JRWPS'), (at(1.5), at(30), NULL, 202, 'p2pX', 0, 'JRWPS');
`)
	shown(t, "docs/import/tinode.md", ok(t, "", "import", "tinode", "--source", dsn, "--dry-run"))
	healed(t, dsn, "SELECT 1", want, left, "tinode")
}
