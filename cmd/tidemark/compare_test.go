package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/importer/demo"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// The example of the documentation is compared as the page shows it, and its folder is not healed.
func TestCompare(t *testing.T) {
	s := stack(t)
	args := []string{"table", "--source", filepath.Join(root, "docs", "import", "example"), "--brokers", s.Broker}
	ok(t, "", append([]string{"import"}, args...)...)
	args = append(args, "--addr", s.URL)
	r := tidemark(t, "", append([]string{"compare"}, args...)...)
	page := document(t, "docs/import/table.md")
	if r.code != exitDifferences || !strings.Contains(page, "\n"+r.out) {
		t.Errorf("docs/import/table.md has another output than this, with exit code %d:\n%s%s", r.code, r.out, r.errout)
	}
	var lines []compare.Line
	for _, text := range compared(t, append(args, "--user", "ann", "--json")...) {
		var l compare.Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if len(lines) != 2 || lines[0].User != "ann" || !slices.ContainsFunc(lines, func(l compare.Line) bool {
		return l.Channel == "general" && l.Bucket == compare.ByPolicy && l.Theirs.Unread == 2 && l.Ours.Unread == 1 && *l.Ours.Mentions == 0
	}) {
		t.Errorf("%+v", lines)
	}
	if r := tidemark(t, "", append([]string{"heal"}, args...)...); r.code != exitUsage || !strings.Contains(r.errout, "is a folder") {
		t.Errorf("healing files: %+v", r)
	}
	// A second name of an import that never was is one that something else fed.
	if r := tidemark(t, "", append([]string{"compare", "--slot", "other", "--user", "bob"}, args...)...); r.code != exitDone {
		t.Errorf("equal numbers: %+v", r)
	}
}

// compared is the output of a comparison, whatever it found.
func compared(t *testing.T, args ...string) []string {
	t.Helper()
	r := tidemark(t, "", append([]string{"compare"}, args...)...)
	if r.code != exitDone && r.code != exitDifferences {
		t.Fatalf("compare %v: %+v", args, r)
	}
	return lines(r.out)
}

func TestCompareIsChecked(t *testing.T) {
	nobody := closedPort(t)
	for want, args := range map[string][]string{
		"--sample 0: it must be at least 1":           {"compare", "table", "--source", ".", "--sample", "0"},
		"--addr \"x\" is not the URL of a node":       {"compare", "table", "--source", ".", "--addr", "x"},
		"--source of mattermost must be the postgres": {"heal", "mattermost", "--source", "."},
		"no Kafka broker answers at " + nobody:        {"compare", "table", "--source", ".", "--brokers", nobody},
		"Discourse stores no numbers":                 {"heal", "discourse", "--source", "postgres://h/d"},
		"Zulip stores no numbers":                     {"heal", "zulip", "--source", "postgres://h/d"},
		"the mapping has no heal":                     {"heal", "table", "--source", "postgres://h/d", "--mapping", "testdata/verbs/no-heal.yml"},
	} {
		if r := tidemark(t, "", args...); r.code == exitDone || !strings.Contains(r.errout, want) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// chat is a random history of a team's own tables, as files. All of its numbers are wrong.
func chat(t *testing.T, seed uint64) (dir string, numbers int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	files := map[string]*strings.Builder{}
	add := func(table string, fields map[string]any) {
		if files[table] == nil {
			files[table] = &strings.Builder{}
		}
		b, err := json.Marshal(fields)
		must(err)
		fmt.Fprintf(files[table], "%s\n", b)
	}
	begin := time.Now().Add(-40 * 24 * time.Hour).UnixMilli()
	at := func(i int) int64 { return begin + int64(i)*3_600_000 }
	const messages, users, channels = 900, 8, 6
	for c := range channels {
		channel := fmt.Sprint("c", c)
		add("channels", map[string]any{"channel_id": channel, "direct": c == 5})
		for u := range users {
			user := fmt.Sprint("u", u)
			row := map[string]any{"channel_id": channel, "user_id": user, "joined_at": at(r.IntN(200))}
			if r.IntN(5) == 0 {
				left := 300 + r.IntN(300)
				row["left_at"] = at(left)
				if r.IntN(2) == 0 {
					add("members", map[string]any{"channel_id": channel, "user_id": user, "joined_at": at(left + 1 + r.IntN(100))})
				}
			}
			if r.IntN(10) > 0 {
				add("members", row)
			}
			p := map[string]any{"channel_id": channel, "user_id": user}
			n := r.IntN(messages / channels)
			switch r.IntN(4) {
			case 0:
				p["seq"] = 1 + n
			case 1:
				p["time"] = at(n * channels)
			case 2:
				p["message_id"] = fmt.Sprint("m", n*channels+c)
			}
			add("pointers", p)
			add("counts", map[string]any{"channel_id": channel, "user_id": user, "unread": 1_000_000})
			thread := fmt.Sprint("m", c)
			if r.IntN(3) == 0 {
				add("follows", map[string]any{"channel_id": channel, "user_id": user, "thread_id": thread, "followed_at": at(r.IntN(messages))})
				add("pointers", map[string]any{"channel_id": channel, "user_id": user, "thread_id": thread, "time": at(r.IntN(messages))})
			}
			add("counts", map[string]any{"channel_id": channel, "user_id": user, "thread_id": thread, "unread": 1_000_000})
			numbers += 2
		}
	}
	for i := range messages {
		c := i % channels
		row := map[string]any{"channel_id": fmt.Sprint("c", c), "message_id": fmt.Sprint("m", i), "sender_id": fmt.Sprint("u", r.IntN(users)), "posted_at": at(i)}
		if i >= channels && r.IntN(4) == 0 {
			row["thread_id"], row["broadcast"] = fmt.Sprint("m", c), r.IntN(5) == 0
		}
		switch r.IntN(12) {
		case 0:
			row["deleted_at"] = at(i + r.IntN(50))
		case 1:
			row["silent"] = true
		case 2:
			row["mentions"] = []string{fmt.Sprint("u", r.IntN(users))}
		}
		add("messages", row)
	}
	dir = t.TempDir()
	for table, text := range files {
		must(os.WriteFile(filepath.Join(dir, table+".ndjson"), []byte(text.String()), 0o600))
	}
	return dir, numbers
}

// What the rows of a source come to by Tidemark's rules is what an import of them is folded to, so
// no number of ours is called wrong.
func TestCompareCountsRowsAsTheFold(t *testing.T) {
	for seed := range uint64(3) {
		s := stack(t)
		dir, numbers := chat(t, seed)
		args := []string{"table", "--source", dir, "--brokers", s.Broker}
		ok(t, "", append([]string{"import"}, args...)...)
		buckets := map[compare.Bucket]int{}
		for _, text := range compared(t, append(args, "--addr", s.URL, "--all", "--json")...) {
			var l compare.Line
			must(json.Unmarshal([]byte(text), &l))
			if buckets[l.Bucket]++; l.Bucket != compare.TheirsWrong {
				t.Errorf("seed %d: %s", seed, &l)
			}
		}
		if buckets[compare.TheirsWrong] != numbers {
			t.Errorf("seed %d: %v of %d", seed, buckets, numbers)
		}
	}
}

// verdicts are the results of a comparison, without the equal ones.
func verdicts(t *testing.T, args ...string) (found []string) {
	t.Helper()
	for _, text := range compared(t, append(args, "--all", "--json")...) {
		var l compare.Line
		must(json.Unmarshal([]byte(text), &l))
		if l.Bucket != compare.Equal {
			found = append(found, l.String())
		}
	}
	slices.Sort(found)
	return found
}

// healed imports a database and compares it. It then runs the statements of heal, twice, and
// compares again. The product's page has the beginning of the statements as they are.
func healed(t *testing.T, dsn, statements string, want, left []string, product ...string) {
	t.Helper()
	page := document(t, "docs/import/"+product[0]+".md")
	testkit.SQL(t, dsn, statements)
	s := stack(t)
	args := append(product, "--source", dsn, "--brokers", s.Broker)
	imported := ok(t, "", append([]string{"import"}, args...)...)
	args = append(args, "--addr", s.URL)
	if product[0] == "synapse" {
		shown(t, "docs/import/synapse.md", imported)
	}
	if product[0] != "table" {
		if out := strings.Join(compared(t, append(args, "--all")...), "\n"); !strings.Contains(page, "\n"+out+"\n") {
			t.Errorf("the page has another comparison than this:\n%s", out)
		}
	}
	if got := verdicts(t, args...); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r := tidemark(t, "", append([]string{"heal"}, args...)...)
	heal := r.out
	first := strings.Index(heal, "\n-- ") + 1 // comment
	if shown := heal[:first+strings.Index(heal[first:], "\n-- ")+1]; r.code != exitDone || !strings.Contains(page, r.errout) || !strings.Contains(page, "\n"+shown) {
		t.Errorf("the page has other statements than these, with exit code %d:\n%s%s", r.code, shown, r.errout)
	}
	for range 2 { // the second time nothing is as it was compared
		testkit.SQL(t, dsn, heal)
		if got := verdicts(t, args...); !slices.Equal(got, left) {
			t.Errorf("after\n%s\ngot\n%s\nwant\n%s", heal, strings.Join(got, "\n"), strings.Join(left, "\n"))
		}
	}
	if r := tidemark(t, "", append([]string{"heal"}, args...)...); r.code != exitDone || r.out != "" {
		t.Errorf("healing once more: %+v", r)
	}
}

// The known defects of a team's own counters land in their buckets, and heal's statements mend
// them.
func TestHealATable(t *testing.T) {
	healed(t, testkit.Postgres(t), demo.SQL("table", time.Now()), []string{
		"1 1 thread 100: theirs 5, ours 1: theirs_wrong: stale: their own rows have 1",
		"1 1: theirs 3, ours 1 (1 @): theirs_wrong: 2 deleted, but counted",
		"2 1: theirs 9 (2 @), ours 0: theirs_wrong: after leaving",
		"3 1: theirs -2, ours 4 (1 @): theirs_wrong: negative",
		"4 1: theirs 5 (1 @), ours 4 (1 @): policy: 1 silent",
		"5 1: theirs 6 (1 @), ours 0: policy: 6 from before they joined",
		"6 1: theirs 99 (1 @), ours 4 (1 @): theirs_wrong: stale: their own rows have 4",
		"7 1: theirs 4, ours 4 (1 @): theirs_wrong: mentions: their own rows have 1",
	}, []string{
		"4 1: theirs 5 (1 @), ours 4 (1 @): policy: 1 silent",
		"5 1: theirs 6 (1 @), ours 0: policy: 6 from before they joined",
	}, "table", "--mapping", filepath.Join(root, "docs/import/table.yml"))
}

// The known defects of Mattermost land in their buckets, and heal's statements mend its counters.
func TestHealMattermost(t *testing.T) {
	left := []string{
		"ann old: theirs 1, ours 0: not_comparable: the channel is deleted",
		"bob c1 thread p1: theirs 1 (1 @), ours 1: policy: mentions by keywords, groups and @here are not in its posts",
		"eve c1: theirs 2, ours 1: policy: 1 of their own: marking unread counts these there",
		"fay c1: theirs 7, ours 3: policy: 4 from before they joined: never viewed",
		"fay c2: theirs 2, ours 0: policy: 2 from before they joined: never viewed",
		"ivy c1: theirs 1 (1 @), ours 1: policy: mentions by keywords, groups and @here are not in its posts",
	}
	want := append([]string{
		"ann c1: theirs 6, ours 4: theirs_wrong: 1 of their own: marking unread counts these there, 1 deleted, but counted",
		"bob c1 thread p1: theirs 1 (3 @), ours 1: theirs_wrong: 3 mentions in 1 unread messages",
		"bob c1: theirs 5, ours 4: theirs_wrong: 1 deleted, but counted",
		"cem c1: theirs -2, ours 0: theirs_wrong: negative",
		"gus c1: theirs 5, ours 0: theirs_wrong: after leaving",
		"hal c1: theirs 0, ours 2: theirs_wrong: stale: their own rows have 2",
		"jon c1: theirs 0 (2 @), ours 0: theirs_wrong: 2 mentions in 0 unread messages",
	}, left...)
	want = slices.DeleteFunc(want, func(l string) bool { return l == left[1] })
	slices.Sort(want)
	healed(t, testkit.Postgres(t), mattermostTables, want, left, "mattermost")
}

// mattermostTables is a Mattermost server's database with what is known to go wrong in it. The
// channel's counters have all posts but the one of joining, and keep the deleted one.
const mattermostTables = `
CREATE FUNCTION at(n numeric) RETURNS bigint AS $$ SELECT (extract(epoch FROM now()) * 1000 - 864000000 + n * 60000)::bigint $$ LANGUAGE sql;
CREATE TYPE channel_type AS ENUM ('P', 'G', 'O', 'D');
CREATE TABLE users (id varchar(26) PRIMARY KEY, username varchar(64));
CREATE TABLE channels (id varchar(26) PRIMARY KEY, type channel_type, deleteat bigint, totalmsgcount bigint, totalmsgcountroot bigint);
CREATE TABLE channelmemberhistory (channelid varchar(26), userid varchar(26), jointime bigint, leavetime bigint);
CREATE TABLE channelmembers (channelid varchar(26), userid varchar(26), lastviewedat bigint, lastupdateat bigint, notifyprops jsonb,
	msgcount bigint, msgcountroot bigint, mentioncount bigint, mentioncountroot bigint);
CREATE TABLE posts (id varchar(26) PRIMARY KEY, createat bigint, deleteat bigint, userid varchar(26), channelid varchar(26), rootid varchar(26),
	originalid varchar(26), message varchar(65535), type varchar(26));
CREATE TABLE threadmemberships (postid varchar(26), userid varchar(26), following boolean, lastviewed bigint, lastupdated bigint, unreadmentions bigint);
INSERT INTO users SELECT n, n FROM unnest(ARRAY['ann', 'bob', 'cem', 'dee', 'eve', 'fay', 'gus', 'hal', 'ivy', 'jon', 'zoe']) n;
INSERT INTO channels VALUES ('c1', 'O', 0, 8, 7), ('c2', 'O', 0, 2, 2), ('d1', 'D', 0, 1, 1), ('old', 'P', at(50), 1, 1);
INSERT INTO posts VALUES
	('p1', at(1), 0, 'zoe', 'c1', '', '', 'one', ''), ('p2', at(2), 0, 'zoe', 'c1', '', '', 'two', ''),
	('p3', at(3), at(20), 'zoe', 'c1', '', '', 'three', ''), ('p4', at(4), 0, 'zoe', 'c1', '', '', 'four', ''),
	('p5', at(5), 0, 'zoe', 'c1', '', '', 'a header', 'system_header_change'), ('p6', at(6), 0, 'zoe', 'c1', '', '', 'joined', 'system_join_channel'),
	('p7', at(7), 0, 'ann', 'c1', '', '', 'seven', ''), ('p8', at(8), 0, 'eve', 'c1', '', '', 'eight', ''),
	('r1', at(9), 0, 'zoe', 'c1', 'p1', '', 'a reply', ''),
	('q1', at(1), 0, 'zoe', 'c2', '', '', 'one', ''), ('q2', at(2), 0, 'zoe', 'c2', '', '', 'two', ''),
	('x1', at(1), 0, 'bob', 'd1', '', '', 'psst', ''), ('o1', at(1), 0, 'zoe', 'old', '', '', 'one', '');
INSERT INTO channelmemberhistory SELECT 'c1', id, CASE id WHEN 'fay' THEN at(4.5) ELSE at(0) END, CASE id WHEN 'gus' THEN at(6) END FROM users;
INSERT INTO channelmemberhistory VALUES ('c2', 'zoe', at(0), NULL), ('c2', 'fay', at(3), NULL), ('d1', 'ann', at(0), NULL), ('d1', 'bob', at(0), NULL),
	('old', 'ann', at(0), NULL);
INSERT INTO channelmembers SELECT 'c1', n.id, n.viewed, at(30), '{}', n.msgs + n.replies, n.msgs, n.mentions, n.mentions FROM (VALUES
	('ann', at(2) - 1, 1, 0, 0), ('bob', at(2), 2, 0, 0), ('cem', at(9), 9, 1, 0), ('dee', at(9), 7, 1, 0), ('eve', at(7) - 1, 5, 0, 0), ('fay', 0, 0, 0, 0),
	('gus', at(2), 2, 0, 0), ('hal', at(6), 7, 1, 0), ('ivy', at(7), 6, 0, 1), ('jon', at(9), 7, 1, 2), ('zoe', at(9), 7, 1, 0)) n (id, viewed, msgs, replies, mentions);
INSERT INTO channelmembers VALUES ('c2', 'zoe', at(2), at(30), '{}', 2, 2, 0, 0), ('c2', 'fay', 0, at(30), '{}', 0, 0, 0, 0),
	('d1', 'ann', 0, at(30), '{}', 0, 0, 1, 1), ('d1', 'bob', at(1), at(30), '{}', 1, 1, 0, 0), ('old', 'ann', 0, at(30), '{}', 0, 0, 0, 0);
INSERT INTO threadmemberships VALUES ('p1', 'bob', true, at(1), at(30), 3);
`

// Discourse counts as Tidemark does, so only its stated differences are left.
func TestCompareDiscourse(t *testing.T) {
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, discourseTables)
	s := stack(t)
	args := []string{"discourse", "--source", dsn, "--brokers", s.Broker}
	ok(t, "", append([]string{"import"}, args...)...)
	args = append(args, "--addr", s.URL, "--all")
	out := strings.Join(compared(t, args...), "\n")
	if page := document(t, "docs/import/discourse.md"); !strings.Contains(page, "\n"+out+"\n") {
		t.Errorf("the page has another comparison than this:\n%s", out)
	}
	if r := tidemark(t, "", append([]string{"compare"}, args...)...); r.code != exitDone {
		t.Errorf("exit code %d", r.code)
	}
}

// discourseTables is the chat of a Discourse site: a channel with threads, one without, and a
// direct one. Some pointers are at messages that are gone, some users have left, or never looked.
const discourseTables = `
CREATE TABLE chat_channels (id bigint PRIMARY KEY, chatable_type varchar, threading_enabled boolean NOT NULL, deleted_at timestamp);
CREATE TABLE chat_messages (id bigint PRIMARY KEY, chat_channel_id bigint, user_id int, created_at timestamp, deleted_at timestamp, thread_id bigint, message text);
CREATE TABLE chat_threads (id bigint PRIMARY KEY, channel_id bigint, original_message_id bigint);
CREATE TABLE chat_mentions (id bigint PRIMARY KEY, chat_message_id bigint, type varchar, target_id int);
CREATE TABLE user_chat_channel_memberships (user_id int, chat_channel_id bigint, last_read_message_id bigint, following boolean, muted boolean,
	created_at timestamp, updated_at timestamp, last_viewed_at timestamp);
CREATE TABLE user_chat_thread_memberships (user_id bigint, thread_id bigint, last_read_message_id bigint, notification_level int, created_at timestamp, updated_at timestamp);
CREATE TABLE notifications (id bigint PRIMARY KEY, user_id int, notification_type int, read boolean, data varchar);
CREATE FUNCTION at(n int) RETURNS timestamp AS $$ SELECT now()::timestamp - interval '10 days' + n * interval '1 minute' $$ LANGUAGE sql;
INSERT INTO chat_channels VALUES (1, 'Category', true, NULL), (2, 'Category', false, NULL), (3, 'DirectMessage', false, NULL), (4, 'Category', false, at(500));
INSERT INTO chat_messages SELECT n, 1 + n % 2, 10 + n % 3, at(n), CASE WHEN n % 11 = 0 THEN at(n + 50) END, NULL, 'text' FROM generate_series(1, 40) n;
INSERT INTO chat_messages VALUES (41, 3, 10, at(41), NULL, NULL, 'psst'), (42, 3, 11, at(42), NULL, NULL, 'yes?'), (43, 3, 10, at(43), NULL, NULL, '@b');
INSERT INTO chat_messages VALUES (44, 1, NULL, at(44), NULL, NULL, 'of somebody removed'), (45, 4, 10, at(45), NULL, NULL, 'closed');
INSERT INTO chat_threads VALUES (7, 1, 4), (8, 2, 5);
UPDATE chat_messages SET thread_id = 7 WHERE id IN (4, 20, 24, 30);
UPDATE chat_messages SET thread_id = 8 WHERE id IN (5, 21, 25);
DELETE FROM chat_messages WHERE id IN (12, 13);
INSERT INTO chat_mentions VALUES (1, 24, 'Chat::UserMention', 12), (2, 36, 'Chat::UserMention', 11), (3, 35, 'Chat::AllMention', NULL);
INSERT INTO user_chat_channel_memberships VALUES
	(10, 1, 20, true, false, at(0), at(100), at(100)), (11, 1, 12, true, false, at(0), at(100), at(100)), (12, 1, 38, true, false, at(25), at(100), at(100)), (14, 1, NULL, true, false, at(25), at(100), at(100)),
	(13, 1, NULL, false, false, at(0), at(30), at(30)), (10, 2, 40, true, true, at(0), at(100), at(100)), (11, 2, 13, true, false, at(0), at(100), at(100)),
	(12, 2, 31, true, false, at(0), at(100), at(100)), (10, 3, 43, true, false, at(40), at(100), at(100)), (11, 3, 42, true, false, at(44), at(100), at(100)),
	(10, 4, NULL, true, false, at(0), at(100), at(100));
INSERT INTO user_chat_thread_memberships VALUES (11, 7, NULL, 2, at(4), at(100)), (10, 7, 20, 3, at(20), at(100)), (12, 7, NULL, 1, at(24), at(100)), (10, 8, NULL, 2, at(5), at(100));
INSERT INTO notifications VALUES (1, 11, 29, false, '{"chat_channel_id": 1, "chat_message_id": 36}'), (2, 11, 29, true, '{"chat_channel_id": 2, "chat_message_id": 35}');
`
