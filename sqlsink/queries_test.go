package sqlsink

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

var sqlBlock = regexp.MustCompile("(?s)\n\n([^\n]+)\n\n```sql\n(.*?)\n```")

// Each query of docs/sql.md answers its question.
func TestQueriesOfTheDocument(t *testing.T) {
	dsn := testkit.Postgres(t)
	w := Begin(t, dsn)
	w.Write(t, asked(time.Now().UnixMilli())...)
	testkit.SQL(t, dsn, "UPDATE tidemark.identity SET complete_at = now()")
	page, err := os.ReadFile("../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Who has not read the announcement":     "ben | cid",
		"Which share of the members":            "1,3,33.3",
		"How long from delivery to reading":     "team,1,60,60",
		"Whose badge is stuck":                  "ben,old,",
		"Who has the most unread":               "ben,6,1,3 | cid,4,0,2 | ann,0,0,0",
		"Which channels does hardly anybody":    "old,30,2",
		"Which channels are muted most":         "team,1,2",
		"How many people last read something":   "",
		"Who was mentioned and has not read it": "ben,team,,1,",
		"What has been queued for users":        "ben,2,1",
		"Which threads have unread replies":     "team,m1,1,2",
		"Is the database complete, and how fre": "",
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for query, want := range map[string]string{
		"'team', 1":                          "[ben]", // ann has a pointer, but no receipt
		"'team', 1, include_private => true": "[ann ben]",
		"'team', 3":                          "[]",
		"'old', 1, include_private => true":  "[cid ben]",
		"'old', 1":                           "ERROR: the channel old is large: it has no receipts, and pointers do not say which reads are private (SQLSTATE P0001)",
	} {
		rows, err := conn.Query(t.Context(), "SELECT user_id FROM tidemark.message_readers("+query+")", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if message := fmt.Sprint(got); err == nil && message != want || err != nil && err.Error() != want {
			t.Errorf("message_readers(%s): %v, %v", query, got, err)
		}
	}
	_, queries, _ := strings.Cut(string(page), "\n## Queries\n")
	blocks := sqlBlock.FindAllStringSubmatch(queries, -1)
	if len(blocks) != len(want) {
		t.Errorf("docs/sql.md has %d queries, and %d are known here", len(blocks), len(want))
	}
	for _, block := range blocks {
		rows, err := conn.Query(t.Context(), strings.TrimSuffix(block[2], ";"), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for rows.Next() {
			var fields []string
			for _, raw := range rows.RawValues() {
				fields = append(fields, string(raw))
			}
			got = append(got, strings.Join(fields, ","))
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s: %v", block[1], err)
			continue
		}
		known := false
		for begin, lines := range want {
			if !strings.HasPrefix(block[1], begin) {
				continue
			}
			known = true
			ok := len(got) > 0
			for i, line := range slices.DeleteFunc(strings.Split(lines, " | "), func(l string) bool { return l == "" }) {
				ok = ok && i < len(got) && strings.HasPrefix(got[i], line)
			}
			if !ok {
				t.Errorf("%s: %q, want %q", block[1], got, lines)
			}
		}
		if !known {
			t.Errorf("no answer is known to %q", block[1])
		}
	}
}

// The statements at the beginning of docs/sql.md make a database that the sink can use, and give
// others the right to read it, and no more.
func TestSetupOfTheDocument(t *testing.T) {
	page, err := os.ReadFile("../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	begin, _, _ := strings.Cut(string(page), "\n## Queries\n")
	setup := docs.Of(docs.Blocks("docs/sql.md", begin), "sql")
	if len(setup) != 2 {
		t.Fatalf("docs/sql.md has %d blocks before its queries", len(setup))
	}
	dsn := testkit.Postgres(t)
	as := func(user string) string {
		return strings.NewReplacer("//tidemark@", "//"+user+"@", "/postgres", "/analytics").Replace(dsn)
	}
	// The superuser has the name that the page gives to its role.
	testkit.SQL(t, dsn, "CREATE ROLE administrator SUPERUSER LOGIN")
	admin := strings.Replace(dsn, "//tidemark@", "//administrator@", 1)
	testkit.SQL(t, admin, "ALTER ROLE tidemark RENAME TO first")
	for statement := range strings.Lines(setup[0]) { // CREATE DATABASE has to be alone
		testkit.SQL(t, admin, statement)
	}
	Begin(t, as("tidemark"))
	testkit.SQL(t, admin, "CREATE ROLE analysts LOGIN")
	testkit.SQL(t, as("tidemark"), setup[1])
	testkit.SQL(t, as("analysts"), "SELECT * FROM tidemark.inbox; SELECT * FROM tidemark.unread; SELECT * FROM tidemark.identity")
	conn, err := pgx.Connect(t.Context(), as("analysts"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "DELETE FROM tidemark.unread"); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("analysts may delete: %v", err)
	}
}

// asked returns the records of three users and three channels, as of a time, so that every query
// finds a user.
func asked(now int64) []*kgo.Record {
	const day = 24 * 3600 * 1000
	head := func(channel string, seq uint32, members uint32, at int64) *kgo.Record {
		return channelOf(&events.ChannelRecord{ChannelID: []byte(channel), HeadSeq: seq, HeadPos: seq, MemberCount: members, Large: members > 3,
			Latest: events.Head{MessageID: []byte("last"), Seq: seq, At: at, SenderID: []byte("ann")}, Stamp: events.Stamp{FoldVersion: 1, M: 9}})
	}
	in := func(user, channel string, read uint32, change func(*events.UnreadDelta)) *kgo.Record {
		d := &events.UnreadDelta{UserID: []byte(user), ChannelID: []byte(channel), Member: true, ReadEpoch: 1, Stamp: events.Stamp{FoldVersion: 1, M: 9, R: 1}}
		if read > 0 {
			d.LastRead, d.LastReadAt = events.Ref{MessageID: []byte("m"), Seq: read}, now-day
		}
		if change != nil {
			change(d)
		}
		return unreadOf(d)
	}
	unread := func(n uint32) func(*events.UnreadDelta) {
		return func(d *events.UnreadDelta) { d.Unread = n }
	}
	large := func(pos uint32) func(*events.UnreadDelta) {
		return func(d *events.UnreadDelta) { d.Large, d.ReadPos = true, pos }
	}
	receipts := &events.ReceiptsRecord{
		ChannelID: []byte("team"), Readers: []events.Receipt{{UserID: []byte("ben"), MessageID: []byte("m2"), Seq: 2, At: now - day + 60_000}},
		Delivered: []events.Receipt{{UserID: []byte("ben"), MessageID: []byte("m1"), Seq: 1, At: now - day}},
	}
	return []*kgo.Record{
		head("announcements", 3, 3, now-day), head("team", 5, 2, now-day), head("old", 100, 30, now-60*day),
		in("ann", "announcements", 3, nil), in("ben", "announcements", 2, unread(1)), in("cid", "announcements", 0, unread(3)),
		in("ann", "team", 5, func(d *events.UnreadDelta) { d.Muted, d.Level = true, events.LevelNone }),
		in("ben", "team", 2, func(d *events.UnreadDelta) { d.Unread, d.Mentions, d.DirectMentions, d.OfflineUnread = 3, 1, 1, 2 }),
		in("ben", "team", 0, func(d *events.UnreadDelta) { d.ThreadID, d.Unread = []byte("m1"), 2 }),
		in("ben", "old", 98, large(98)), in("cid", "old", 99, large(99)),
		{Topic: events.TopicReceipts, Key: receipts.ChannelID, Value: events.AppendReceiptsRecord(nil, receipts)},
	}
}
