package product

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// database starts a PostgreSQL. Its function replaces the content and opens the database. The next
// call closes what the previous call opened.
func database(t *testing.T) func(sql, user string) *source.Postgres {
	t.Helper()
	dsn := testkit.Postgres(t)
	var db *source.Postgres
	end := func() {
		if db != nil {
			_ = db.Close(t.Context()) // it has only read
			db = nil
		}
	}
	t.Cleanup(end)
	return func(sql, user string) *source.Postgres {
		t.Helper()
		end()
		testkit.SQL(t, dsn, sql)
		var err error
		if db, err = source.OpenPostgres(t.Context(), strings.Replace(dsn, "tidemark@", user+"@", 1)); err != nil {
			t.Fatal(err)
		}
		return db
	}
}

// fresh empties a database.
const fresh = "DROP SCHEMA public CASCADE; CREATE SCHEMA public;\n"

// zulipRows is a small server: two streams, one of them deactivated, a group, and a conversation of
// two users.
const zulipRows = chats.ZulipTables + `
CREATE FUNCTION at(n int) RETURNS timestamptz AS $$ SELECT '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 second' $$ LANGUAGE sql;
INSERT INTO zerver_recipient VALUES (11, 1, 2), (12, 2, 2), (13, 1, 3), (21, 1, 1), (22, 2, 1);
INSERT INTO zerver_stream VALUES (1, 11, false, at(0)), (2, 12, true, at(0));
INSERT INTO zerver_userprofile VALUES (1, false, NULL), (2, false, NULL), (3, true, 5);
INSERT INTO zerver_realmauditlog (event_type, event_time, modified_user_id, modified_stream_id) VALUES
	(301, at(1), 1, 1), (302, at(2), 1, 1), (303, at(3), 1, 1), (302, at(4), 1, 1), (303, at(1), 2, 1), (301, at(2), 3, 1), (301, at(2), 2, 2), (602, at(50), NULL, 2);
INSERT INTO zerver_subscription (recipient_id, user_profile_id, active, is_muted) VALUES
	(11, 1, true, true), (11, 2, true, false), (11, 3, true, false), (12, 2, false, false), (13, 1, true, false), (21, 1, true, false);
INSERT INTO zerver_message VALUES
	(5, 1, 11, 't', 'hello', at(5), 1), (6, 2, 11, 't', '@**all** and @one', at(6), 1), (7, 2, 11, 't', 'third', at(7), 2), (8, 1, 13, '', 'of a group', at(8), 1),
	(9, 1, 22, '', 'psst', at(9), 1), (10, 2, 21, '', 'yes?', at(10), 1), (11, 3, 12, 't', 'gone', at(11), 1);
INSERT INTO zerver_archivetransaction VALUES (1, at(60), false), (2, at(61), true);
INSERT INTO zerver_archivedmessage VALUES (4, 2, 11, 't', 'deleted', at(4), 1, 1), (5, 1, 11, 't', 'hello', at(5), 1, 2);
INSERT INTO zerver_usermessage (user_profile_id, message_id, flags) VALUES
	(1, 5, 1), (1, 6, 8 | 16), (1, 7, 1), (2, 5, 1), (2, 6, 1), (2, 7, 1), (3, 5, 0), (1, 8, 1), (1, 9, 2049), (2, 9, 2048), (1, 10, 2048 | 32), (2, 10, 2049);
`

func TestZulip(t *testing.T) {
	load := database(t)
	const of = " at 2026-01-01T00:00:"
	want := []string{
		"channel 11", "channel 12", "channel 13 direct", "channel dm-1-2 direct", "ended 12" + of + "50Z",
		"member 11 1" + of + "01Z until 2026-01-01T00:00:03Z", "member 11 1" + of + "04Z", "member 11 2", "member 11 3" + of + "02Z",
		"member 12 2" + of + "02Z until 2026-01-01T00:00:02Z", "member 13 1", "member dm-1-2 1", "member dm-1-2 2", "mute 11 1",
		"pointer 11 1 id 6 before", "pointer 11 2" + of + "07Z", "pointer 11 3 id 5 before", "pointer 13 1" + of + "08Z",
		"pointer dm-1-2 1 id 10 before", "pointer dm-1-2 2 id 9 before",
		"single 11 1 id 7" + of + "07Z",
		"post 11 2 id 4" + of + "04Z until 2026-01-01T00:01:00Z text deleted", "post 11 1 id 5" + of + "05Z text hello",
		"post 11 2 id 6" + of + "06Z text @**all** and @one mentions 1 all", "post 11 2 id 7" + of + "07Z text third", "post 13 1 id 8" + of + "08Z text of a group",
		"post dm-1-2 1 id 9" + of + "09Z text psst", "post dm-1-2 2 id 10" + of + "10Z text yes? mentions 1", "post 12 3 id 11" + of + "11Z text gone",
	}
	got, problems, err := events(t, &Zulip{Source: load(zulipRows, "tidemark")})
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || len(problems) != 1 || problems[0].Count != 1 || !strings.Contains(problems[0].Reason, "whose end is not in the log") || !slices.Equal(got, want) {
		t.Errorf("%v, %+v\n%s\nwant\n%s", err, problems, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	const first, second = "1 11: 1 1, 1 13: 0 0, 1 dm-1-2: 1 1", "2 11: 0 0, 2 dm-1-2: 1 0"
	if got, problems, err := numbers(t, &Zulip{Source: load("", "tidemark")}); err != nil || len(problems) > 0 || got != first+", "+second+", 3 11: 1 0" {
		t.Errorf("%q, %+v, %v", got, problems, err)
	}
	if got, _, err := numbers(t, &Zulip{Source: load("", "tidemark")}, "2"); err != nil || got != second {
		t.Errorf("of one: %q, %v", got, err)
	}
	marks := map[string]string{}
	z := &Zulip{Source: load("", "tidemark"), newest: 1}
	if err := z.Counts(t.Context(), nil, &importer.Problems{}, func(n importer.Count) error {
		marks[n.User+" "+n.Channel] = fmt.Sprint(n.Unread, n.Capped, n.Why != "")
		return nil
	}); err != nil || marks["1 11"] != "0 true false" || marks["1 dm-1-2"] != "1 false false" || marks["3 11"] != "1 false true" {
		t.Errorf("what Zulip shows of one message: %v, %v", marks, err)
	}
}

// An import reports missing tables, columns and rights before it reads anything.
func TestZulipOfAnotherShape(t *testing.T) {
	load := database(t)
	load(zulipRows+"CREATE ROLE stranger LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO stranger; REVOKE SELECT ON zerver_usermessage FROM stranger", "tidemark")
	if _, _, err := events(t, &Zulip{Source: load("", "stranger")}); err == nil || !strings.Contains(err.Error(), "may not read zerver_usermessage: GRANT SELECT ON zerver_usermessage TO") {
		t.Errorf("without rights: %v", err)
	}
	for _, c := range []struct{ sql, want string }{
		{"ALTER TABLE zerver_archivetransaction DROP restored", "no column zerver_archivetransaction.restored, which Zulip has since 2.1"},
		{"ALTER TABLE zerver_message DROP date_sent", "no column zerver_message.date_sent: is it the database of a current Zulip"},
		{"DROP TABLE zerver_realmauditlog", "no table zerver_realmauditlog: is it the database of Zulip"},
	} {
		if _, _, err := events(t, &Zulip{Source: load(c.sql, "tidemark")}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %s: %v", c.sql, err)
		}
		if _, _, err := numbers(t, &Zulip{Source: load("", "tidemark")}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("numbers after %s: %v", c.sql, err)
		}
	}
}

// Wrong rows are counted, and do not end an import: NULLs, and wrong clocks.
func TestBadZulip(t *testing.T) {
	load := database(t)
	db := load(zulipRows+`INSERT INTO zerver_message VALUES (30, NULL, 11, 't', NULL, at(30), 1), (31, 2, 11, 't', 'x', '2100-01-01', 1), (32, 2, 11, 't', 'x', '1970-01-01 00:00:03Z', 1),
		(33, 2, 99, 't', 'no recipient', at(33), 1), (34, 2, 11, 't', 'x', '0040-01-01 BC', 1);
INSERT INTO zerver_usermessage (user_profile_id, message_id, flags) VALUES (1, 32, 0), (1, 777, 0), (NULL, 6, 0), (1, 30, 0), (1, 31, 0);
INSERT INTO zerver_subscription (recipient_id, user_profile_id, active) VALUES (11, NULL, true), (NULL, 1, true);`, "tidemark")
	m, sum := modelOf(t, importer.Config{}, &Zulip{Source: db})
	got := map[string]int64{}
	for _, p := range sum.Problems {
		got[p.Reason] = p.Count
	}
	for reason, n := range map[string]int64{
		"a message without a sender: written as of unknown-sender": 1, "a time ahead of the clock: taken as the time of the import": 1, "date_sent is no time: taken as none": 1,
		"a message read although older ones are unread, and too old to be named: left unread": 1,
	} {
		if got[reason] < n {
			t.Errorf("%d times %q: %+v", n, reason, sum.Problems)
		}
	}
	same(t, m, "2", "11", chats.Want{Member: true, Unread: 0})
}

// After any actions on a server, the numbers are those of the flags, including single flags.
func TestZulipStories(t *testing.T) {
	load := database(t)
	for seed := range uint64(10) {
		z := chats.PlayZulip(rand.New(rand.NewPCG(seed, 43)), longAgo(), 250)
		conf := importer.Config{}
		if seed%5 == 4 {
			conf.Since = 59 * 24 * time.Hour
		}
		m, sum := modelOf(t, conf, &Zulip{Source: load(fresh+z.SQL(), "tidemark")})
		if len(sum.Problems) > 0 && conf.Since == 0 {
			t.Errorf("%+v", sum.Problems)
		}
		for _, c := range z.Channels {
			for _, u := range z.Users {
				want := z.Want(u, c)
				if v, _ := m.View(fmt.Sprint(u), c); conf.Since > 0 && want.Member {
					want.Unread, want.Mentions = max(want.Unread, v.Unread), v.Mentions // older messages that were read singly count
				}
				same(t, m, fmt.Sprint(u), c, want)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
