package product

import (
	"os"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// rooms is the database of docs/import/table.yml.
const rooms = `
CREATE TABLE rooms (id bigint PRIMARY KEY, kind text NOT NULL);
CREATE TABLE room_members (room_id bigint, user_id bigint, joined_at timestamptz, left_at timestamptz, last_read_message_id bigint,
	read_at timestamptz, muted_at timestamptz, unread_count int NOT NULL DEFAULT 0, mention_count int NOT NULL DEFAULT 0, PRIMARY KEY (room_id, user_id));
CREATE TABLE messages (id bigint PRIMARY KEY, room_id bigint, author_id bigint, parent_id bigint, created_at timestamptz, body text, kind text,
	deleted_at timestamptz, mentioned bigint[], mentions_room boolean NOT NULL DEFAULT false);
CREATE TABLE thread_members (message_id bigint, user_id bigint, followed_at timestamptz, last_read_message_id bigint, read_at timestamptz,
	unread_count int NOT NULL DEFAULT 0);
INSERT INTO rooms VALUES (1, 'room'), (2, 'dm');
INSERT INTO room_members VALUES (1, 7, '2026-01-01', NULL, 10, '2026-01-02 10:00+02', NULL, 4, 1), (1, 8, '2026-01-01', '2026-02-01', NULL, NULL, NULL, 0, 0),
	(2, 7, '2026-01-01', NULL, NULL, NULL, '2026-01-05', -1, 0);
INSERT INTO messages VALUES (9, 1, 8, NULL, '2026-01-02 07:00:00.5Z', 'first', 'text', NULL, '{7,8}'),
	(10, 1, 7, NULL, '2026-01-02 08:00Z', NULL, 'system', NULL, NULL), (11, 1, 7, 9, '2026-01-03Z', 'reply', 'text', '2026-01-04Z', NULL);
INSERT INTO thread_members VALUES (9, 8, '2026-01-02', 11, '2026-01-03', 6);
CREATE ROLE stranger LOGIN;
`

// events returns the events of a product, one per line, and its problems.
func events(t *testing.T, p importer.Product) (lines []string, problems []importer.Problem, err error) {
	t.Helper()
	var collected importer.Problems
	err = p.Events(t.Context(), &collected, func(_ importer.Origin, e *importer.Event) error {
		lines = append(lines, line(e))
		return nil
	})
	return lines, collected.List(), err
}

// The mapping of the documentation works as documented, on a real PostgreSQL.
func TestMappingOfTheDocumentation(t *testing.T) {
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, rooms)
	text, err := os.ReadFile("../../docs/import/table.yml")
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := ParseMapping("table.yml", text)
	if err != nil {
		t.Fatal(err)
	}
	db, err := source.OpenPostgres(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	testkit.SQL(t, dsn, "INSERT INTO messages VALUES (12, 1, 7, NULL, now(), 'later', 'text', NULL, NULL)") // after the transaction has begun
	got, problems, err := events(t, &Table{Source: db, Mapping: mapping})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	want := []string{
		"channel 1", "channel 2 direct",
		"member 1 7 at 2026-01-01T00:00:00Z", "member 1 8 at 2026-01-01T00:00:00Z until 2026-02-01T00:00:00Z", "member 2 7 at 2026-01-01T00:00:00Z",
		"pointer 1 7 id 10 until 2026-01-02T08:00:00Z", "pointer 1 8 id 11 thread 9 until 2026-01-03T00:00:00Z",
		"follow 1 8 thread 9 at 2026-01-02T00:00:00Z", "mute 2 7 at 2026-01-05T00:00:00Z",
		"post 1 8 id 9 at 2026-01-02T07:00:00.5Z text first mentions 7,8", "post 1 7 id 10 at 2026-01-02T08:00:00Z silent",
		"post 1 7 id 11 thread 9 at 2026-01-03T00:00:00Z until 2026-01-04T00:00:00Z text reply",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct {
		users []string
		want  string
	}{
		{nil, "7 1: 4 1, 7 2: -1 0, 8 1 9: 6, 8 1: 0 0"}, {[]string{"8"}, "8 1 9: 6, 8 1: 0 0"}, {[]string{"8'", "9"}, ""},
	} {
		if got, problems, err := numbers(t, &Table{Source: db, Mapping: mapping}, c.users...); err != nil || len(problems) > 0 || got != c.want {
			t.Errorf("numbers of %q: %q, %v, %v", c.users, got, problems, err)
		}
	}
}

// Errors of a database have a remedy.
func TestDatabasesInWords(t *testing.T) {
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, rooms)
	for what, c := range map[string]struct{ dsn, query, want string }{
		"no table":    {dsn, "SELECT * FROM nothing", `relation "nothing" does not exist: is it the database of this product`},
		"no column":   {dsn, "SELECT nothing FROM rooms", `column "nothing" does not exist`},
		"no right":    {strings.Replace(dsn, "tidemark@", "stranger@", 1), "SELECT * FROM rooms", "GRANT SELECT ON ALL TABLES"},
		"a column":    {dsn, "SELECT id AS channel_id, id AS message_id, created_at AS posted_at FROM messages", "messages has no column sender_id"},
		"bad SQL":     {dsn, "SELEKT", `syntax error at or near "SELEKT" (42601)`},
		"it writes":   {dsn, "DELETE FROM messages", "cannot execute DELETE in a read-only transaction"},
		"no database": {strings.Replace(dsn, "/postgres", "/none", 1), "", `database "none" does not exist`},
		"no server":   {"postgres://127.0.0.1:1/x", "", "connection refused"},
	} {
		db, err := source.OpenPostgres(t.Context(), c.dsn)
		if err == nil {
			_, _, err = events(t, &Table{Source: db, Mapping: Mapping{"messages": c.query}})
			_ = db.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
