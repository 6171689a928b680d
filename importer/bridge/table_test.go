package bridge

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// mapped uses the mapping of the documentation, with old replaced by new in each pair.
func (b *bed) mapped(replacements ...string) {
	b.t.Helper()
	text, err := os.ReadFile("../../docs/import/table.yml")
	if err != nil {
		b.t.Fatal(err)
	}
	changed := []byte(strings.NewReplacer(replacements...).Replace(string(text)))
	if b.table.mapping, err = product.ParseMapping("table.yml", changed); err != nil {
		b.t.Fatal(err)
	}
	if b.table.changing, err = product.ParseChanging("table.yml", changed, b.table.mapping); err != nil {
		b.t.Fatal(err)
	}
}

// The test imports the first half of random stories of a team's own tables. A bridge, which is
// killed at random points, follows the rest. The numbers equal those of an import of everything.
func TestTablesAreFollowed(t *testing.T) {
	const users, rooms = 4, 3
	dsn := testkit.Postgres(t)
	for seed := range uint64(3) {
		testkit.SQL(t, dsn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP PUBLICATION IF EXISTS chat")
		b := newBed(t, "table", dsn, testkit.FakeKafka(t).ListenAddrs())
		b.mapped()
		r := rand.New(rand.NewPCG(seed, 29))
		m := &chats.Table{Now: b.now}
		b.run(m.Begin(users, rooms)...)
		b.publish()
		play := func(n int) {
			for range n {
				b.run(m.Step(r, users, rooms)...)
			}
		}
		play(150)
		made, err := source.CreateSlot(t.Context(), dsn, slot)
		if err != nil {
			t.Fatal(err)
		}
		play(50) // the snapshot does not have these
		b.importTo("parts.", made)
		made.Close(t.Context())
		kills := 0
		for range 2 {
			play(100)
			kills += b.follow(r, 4)
		}
		b.importTo("whole.", nil)
		want, _ := b.fold("whole.")
		got, records := b.fold("parts.")
		b.once(records)
		channels, roots := m.Names()
		b.same(want, got, []string{"1", "2", "3", "4"}, channels, roots)
		if kills < 4 {
			t.Errorf("seed %d: killed %d times", seed, kills)
		}
		dropSlot(t, dsn)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A bridge notices what an import cannot see: removed rows, the end of a follow, and a pointer by
// number and one by time.
func TestTableRowsAreRemoved(t *testing.T) {
	b := newBed(t, "table", testkit.Postgres(t), testkit.FakeKafka(t).ListenAddrs())
	b.mapped("last_read_message_id AS message_id, read_at", "NULL::bigint AS message_id, read_at, n AS seq, seen_at AS time",
		"last_read_message_id IS NOT NULL", "n IS NOT NULL OR seen_at IS NOT NULL",
		"t.last_read_message_id, t.read_at", "t.last_read_message_id, t.read_at, NULL, NULL")
	m := &chats.Table{Now: b.now}
	b.run(m.Begin(3, 2)...)
	b.run("ALTER TABLE room_members ADD n int, ADD seen_at timestamptz; ALTER TABLE messages REPLICA IDENTITY FULL")
	b.publish()
	made, err := source.CreateSlot(t.Context(), b.dsn, slot)
	if err != nil {
		t.Fatal(err)
	}
	b.importTo("parts.", made)
	made.Close(t.Context())
	for range 4 { // 101 to 104
		b.run(m.Post(1, 1, 0, 0))
	}
	b.run(m.Post(1, 1, 101, 0), m.Post(1, 1, 101, 0)) // 105 and 106
	b.run("INSERT INTO thread_members VALUES (101, 2, '2020-01-01', 105, now(), 0), (101, 3, '2020-01-01', NULL, NULL, 0)")
	b.run("UPDATE room_members SET n = 3 WHERE room_id = 1 AND user_id = 2")                                                      // 104 is unread
	b.run("UPDATE room_members SET seen_at = (SELECT created_at FROM messages WHERE id = 101) WHERE room_id = 1 AND user_id = 3") // 102 to 104
	check := func(what, user string, unread, thread uint32, member, following bool) {
		t.Helper()
		b.follow(rand.New(rand.NewPCG(1, 1)), 0)
		got, _ := b.fold("parts.")
		v, _ := got.View(user, "1")
		th, _ := got.Thread(user, "1", "101")
		if v.Member != member || v.Unread != unread || th.Following != following || following && th.Unread != thread {
			t.Errorf("%s: %s is a member %v with %d unread, follows %v with %d; want %v, %d, %v, %d", what, user, v.Member, v.Unread, th.Following, th.Unread,
				member, unread, following, thread)
		}
	}
	check("a pointer by number", "2", 1, 1, true, true)
	check("a pointer by time", "3", 3, 2, true, true)
	b.run("DELETE FROM messages WHERE id = 104", "DELETE FROM thread_members WHERE user_id = 3", "UPDATE room_members SET muted_at = now() WHERE user_id = 2")
	check("a message is removed", "2", 0, 1, true, true)
	check("a follow is removed", "3", 2, 0, true, false)
	got, _ := b.fold("parts.")
	if v, _ := got.View("2", "1"); !v.Muted {
		t.Error("a mute is not there")
	}
	b.run("DELETE FROM room_members WHERE user_id = 3", "UPDATE room_members SET muted_at = NULL WHERE user_id = 2")
	check("a member is removed", "3", 0, 0, false, false)
	got, _ = b.fold("parts.")
	if v, _ := got.View("2", "1"); v.Muted {
		t.Error("a mute is there")
	}
	b.run(`INSERT INTO messages SELECT 107, 1, 1, NULL, now(), string_agg(md5(n::text), ''), 'text' FROM generate_series(1, 500) n`,
		"UPDATE messages SET mentioned = '{2}' WHERE id = 107") // the change does not have its text
	check("a large message", "2", 1, 1, true, true)
	got, _ = b.fold("parts.")
	if v, _ := got.View("2", "1"); v.Mentions != 1 || !strings.HasPrefix(v.Latest.Preview, "c4ca4238") {
		t.Errorf("a large message has %d mentions, and begins with %q", v.Mentions, v.Latest.Preview)
	}
	b.run("DELETE FROM rooms WHERE id = 1")
	check("a room is removed", "2", 0, 0, false, false)
}

// A mapping that does not fit the database is refused before the bridge follows anything.
func TestMappingsAreChecked(t *testing.T) {
	b := newBed(t, "table", testkit.Postgres(t), testkit.FakeKafka(t).ListenAddrs())
	b.mapped()
	m := &chats.Table{Now: b.now}
	b.run(m.Begin(2, 1)...)
	b.publish()
	made, err := source.CreateSlot(t.Context(), b.dsn, slot)
	if err != nil {
		t.Fatal(err)
	}
	b.importTo("parts.", made)
	made.Close(t.Context())
	b.mapped("by: {channel_id: id}", "by: {channel_id: number}")
	var refused RefusedError
	if err := New(b.config()).Run(t.Context()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "live: rooms: channels: the database says: column changed.number does not exist") {
		t.Errorf("%v", err)
	}
}
