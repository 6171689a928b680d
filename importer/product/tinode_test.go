package product

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/internal/test/chats"
)

// tinode is a small server: a group that some users read as a channel, a topic of two, and a
// deleted topic.
const tinode = chats.TinodeTables + `
CREATE FUNCTION at(n int) RETURNS timestamp AS $$ SELECT '2026-01-01T00:00:00'::timestamp + n * interval '1 second' $$ LANGUAGE sql;
INSERT INTO topics (createdat, name, seqid, state, stateat) VALUES (at(0), 'grpA', 7, 0, NULL), (at(0), 'p2pX', 1, 0, NULL), (at(0), 'grpOld', 0, 20, at(50));
INSERT INTO subscriptions (createdat, updatedat, deletedat, userid, topic, readseqid, modewant) VALUES
	(at(1), at(20), NULL, 101, 'grpA', 3, 'JRWPS'), (at(1), at(21), NULL, 102, 'chnA', 99, 'JR'), (at(1), at(22), at(22), 103, 'grpA', 2, 'JRWP'),
	(at(1), at(23), NULL, 104, 'grpA', 0, NULL), (at(1), at(24), NULL, 101, 'p2pX', 1, 'JRWPA'), (at(1), at(24), NULL, 101, 'grpNone', 1, 'JRWPA');
INSERT INTO messages (createdat, deletedat, seqid, topic, "from", head, content) VALUES
	(at(2), NULL, 2, 'grpA', 101, NULL, '"first"'), (at(4), NULL, 3, 'grpA', 102, '{"mime": "text/x-drafty"}', '{"txt": "formatted", "fmt": []}'),
	(at(3), NULL, 5, 'grpA', 102, NULL, '"clock went back"'), (at(6), at(30), 6, 'grpA', 0, NULL, NULL),
	(at(7), NULL, 7, 'grpA', 103, '{"replace": ":3"}', '"edited"'), (at(8), NULL, 8, 'grpA', 104, '[]', '{"ent": []}'), (at(2), NULL, 1, 'p2pX', 101, NULL, '"psst"');
INSERT INTO dellog (topic, deletedfor, delid, low, hi) VALUES ('grpA', 101, 1, 2, 6), ('grpA', 0, 2, 6, 7), ('grpA', 104, 3, 8, 9), ('grpA', 102, 4, 3, 0);
`

func TestTinode(t *testing.T) {
	load := database(t)
	const of = " at 2026-01-01T00:00:"
	want := []string{
		"channel grpA", "channel grpOld", "channel p2pX direct", "ended grpOld" + of + "50Z",
		"member grpA 101" + of + "01Z", "member grpA 102" + of + "01Z", "member grpA 103" + of + "01Z until 2026-01-01T00:00:22Z", "member grpA 104" + of + "01Z", "member p2pX 101" + of + "01Z",
		"pointer grpA 101 until 2026-01-01T00:00:20Z seq 3", "pointer grpA 102 until 2026-01-01T00:00:21Z seq 8", "pointer p2pX 101 until 2026-01-01T00:00:24Z seq 1", "mute grpA 102" + of + "21Z",
		"single grpA 101 id 5" + of + "03Z",
		"post grpA id 1" + of + "00Z silent", "post grpA 101 id 2" + of + "02Z text first", "post grpA 102 id 3" + of + "04Z text formatted", "post grpA id 4" + of + "04Z silent",
		"post grpA 102 id 5" + of + "04Z text clock went back", "post grpA id 6" + of + "06Z until 2026-01-01T00:00:30Z silent", "post grpA 103 id 7" + of + "07Z text edited silent",
		"post grpA 104 id 8" + of + "08Z", "post p2pX 101 id 1" + of + "02Z text psst",
	}
	got, problems, err := events(t, &Tinode{Source: load(tinode, "tidemark")})
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Reason, "the head of a message is no JSON object") || !slices.Equal(got, want) {
		t.Errorf("%v, %+v\n%s\nwant\n%s", err, problems, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, problems, err := numbers(t, &Tinode{Source: load("", "tidemark")}); err != nil || len(problems) > 0 || got != "101 grpA: 4, 101 p2pX: 0, 102 grpA: -92, 104 grpA: 7" {
		t.Errorf("%q, %+v, %v", got, problems, err)
	}
	if got, _, err := numbers(t, &Tinode{Source: load("", "tidemark")}, "104"); err != nil || got != "104 grpA: 7" {
		t.Errorf("of one: %q, %v", got, err)
	}
}

// An import reports missing tables, columns and rights before it reads anything.
func TestTinodeOfAnotherShape(t *testing.T) {
	load := database(t)
	load(tinode+"CREATE ROLE stranger LOGIN; GRANT SELECT ON topics, messages TO stranger", "tidemark")
	if _, _, err := events(t, &Tinode{Source: load("", "stranger")}); err == nil || !strings.Contains(err.Error(), "may not read subscriptions, dellog: GRANT SELECT ON subscriptions, dellog TO") {
		t.Errorf("without rights: %v", err)
	}
	for _, c := range []struct{ sql, want string }{
		{"ALTER TABLE topics DROP stateat", "no column topics.stateat, which Tinode has since 0.16"},
		{"ALTER TABLE topics ADD stateat timestamp; ALTER TABLE messages DROP seqid", "no column messages.seqid: is it the database of a current Tinode"},
		{"DROP TABLE dellog", "no table dellog: is it the database of Tinode"},
	} {
		if _, _, err := events(t, &Tinode{Source: load(c.sql, "tidemark")}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %s: %v", c.sql, err)
		}
		if _, _, err := numbers(t, &Tinode{Source: load("", "tidemark")}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("numbers after %s: %v", c.sql, err)
		}
	}
}

// Wrong rows are counted, and do not end an import: NULLs, and wrong clocks.
func TestBadTinode(t *testing.T) {
	load := database(t)
	db := load(tinode+`INSERT INTO subscriptions (createdat, updatedat, deletedat, userid, topic, readseqid) VALUES
	('2100-01-01', '2100-01-01', NULL, 105, 'grpA', NULL), ('0040-01-01 BC', at(1), NULL, 106, 'grpA', -5), (at(9), at(9), at(1), 107, 'grpA', 1);
INSERT INTO topics (createdat, name, seqid) VALUES ('2100-01-01', 'grpFuture', 2);
INSERT INTO messages (createdat, seqid, topic, "from") VALUES ('2100-01-01', 1, 'grpFuture', 101), ('1970-01-01 00:00:03', 2, 'grpFuture', 101);`, "tidemark")
	m, sum := modelOf(t, importer.Config{}, &Tinode{Source: db})
	got := map[string]int64{}
	for _, p := range sum.Problems {
		got[p.Reason] = p.Count
	}
	for reason, n := range map[string]int64{
		"a time ahead of the clock: taken as the time of the import": 4, "createdat is no time: taken as none": 1, "somebody left before they joined": 1,
		"readseqid is no number of a message: taken as none": 1,
	} {
		if got[reason] != n {
			t.Errorf("%d times %q: %+v", n, reason, sum.Problems)
		}
	}
	same(t, m, "106", "grpA", chats.Want{Member: true, Unread: 4})
}

// After any actions on a server, the numbers are those of the existing messages, and a topic has as
// many numbers in Tidemark as in Tinode.
func TestTinodeStories(t *testing.T) {
	load := database(t)
	for seed := range uint64(10) {
		s := chats.PlayTinode(rand.New(rand.NewPCG(seed, 44)), longAgo(), 250)
		conf := importer.Config{}
		if seed%5 == 4 {
			conf.Since = 55 * 24 * time.Hour
		}
		m, sum := modelOf(t, conf, &Tinode{Source: load(fresh+s.SQL(), "tidemark")})
		if len(sum.Problems) > 0 && conf.Since == 0 {
			t.Errorf("%+v", sum.Problems)
		}
		for _, topic := range s.Topics {
			head, _ := m.Channel(topic)
			if n := s.Heads()[topic]; conf.Since == 0 && head.HeadSeq != uint32(n) {
				t.Errorf("%s has %d numbers, want %d", topic, head.HeadSeq, n)
			}
			for _, u := range s.Users {
				want := s.Want(u, topic)
				if v, _ := m.View(fmt.Sprint(u), topic); conf.Since > 0 && want.Member {
					want.Unread = max(want.Unread, v.Unread) // older messages that a user deleted for themselves count
				}
				same(t, m, fmt.Sprint(u), topic, want)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
