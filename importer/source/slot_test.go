package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// chat has a table with a primary key, and one without.
const chat = `
CREATE TABLE rooms (id bigint PRIMARY KEY, name text, topic text);
CREATE TABLE receipts (room bigint, reader text, place bigint);
INSERT INTO rooms VALUES (1, 'old', NULL);
CREATE ROLE stranger LOGIN;
`

var chatTables = []Followed{
	{Table: "rooms", Updates: true}, {Table: "receipts", Updates: true, Full: true}, {Table: "of_newer_versions", Optional: true},
}

// changes reads the stream up to a transaction with the text end, and returns its changes as text.
func changes(t *testing.T, s *Stream, end string) (all []string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		tx, err := s.Next(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the stream has %q, and never %q", all, end)
		}
		if tx == nil {
			continue
		}
		for _, c := range tx.Changes {
			all = append(all, fmt.Sprintf("%d %s %v", c.Kind, c.Row.Table, c.Row))
		}
		if strings.Contains(all[len(all)-1], end) {
			if err := s.Confirm(t.Context(), tx.At); err != nil {
				t.Fatal(err)
			}
			return all
		}
	}
}

// A slot can be created once the publications are right. Its snapshot and its stream have each
// change once. The stream continues where its reader has confirmed, and the database reports what
// it retains.
func TestSlot(t *testing.T) {
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, chat)
	ctx := t.Context()
	refused := func(want string) string {
		t.Helper()
		err := CheckPublications(ctx, dsn, "chat", chatTables)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("want %q: %v", want, err)
		}
		_, sql, _ := strings.Cut(err.Error(), ":\n")
		return sql
	}
	refused("the publications of the slot chat lack tables")
	testkit.SQL(t, dsn, "CREATE PUBLICATION chat FOR TABLE rooms, receipts; INSERT INTO receipts VALUES (1, 'ann', 1)")
	refused("covers updates of receipts, which have no primary key")
	// The statements that an error of the command prints can be pasted with the error code after
	// them.
	testkit.SQL(t, dsn, refused("DROP PUBLICATION chat")+" [TM044]")
	if err := CheckPublications(ctx, dsn, "chat", chatTables); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateSlot(ctx, strings.Replace(dsn, "tidemark@", "stranger@", 1), "chat"); err == nil || !strings.Contains(err.Error(), "ALTER ROLE that user REPLICATION") {
		t.Errorf("without a right: %v", err)
	}

	slot, err := CreateSlot(ctx, dsn, "chat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreateSlot(ctx, dsn, "chat"); err == nil || !strings.Contains(err.Error(), "the database already has a slot of this name") {
		t.Errorf("the same again: %v", err)
	}
	large := strings.Repeat("0123456789abcdef", 100)
	testkit.SQL(t, dsn, "ALTER TABLE rooms ALTER topic SET STORAGE EXTERNAL; INSERT INTO rooms VALUES (2, 'néw', repeat('0123456789abcdef', 200))")
	testkit.SQL(t, dsn, "UPDATE rooms SET name = NULL WHERE id = 2; UPDATE receipts SET place = 2; DELETE FROM rooms WHERE id = 1; DELETE FROM receipts")
	db, err := OpenSnapshot(ctx, dsn, slot.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	slot.Close(ctx)
	var seen []string
	for _, query := range []string{"SELECT * FROM rooms", "SELECT * FROM receipts"} {
		if _, err := db.Rows(ctx, "t", query, func(r *Row) error { seen = append(seen, r.String()); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(ctx); err != nil || strings.Join(seen, ", ") != "id=1 name=old topic=, room=1 reader=ann place=1" {
		t.Errorf("the snapshot has %q, %v", seen, err)
	}

	stream, err := OpenStream(ctx, dsn, "chat", slot.At)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 rooms id=2 name=néw topic=" + large + large, "2 rooms id=2 name=", "2 receipts room=1 reader=ann place=2",
		"3 rooms id=1 name= topic=", "3 receipts room=1 reader=ann place=2",
	}
	got := changes(t, stream, "3 receipts")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := DropSlot(ctx, dsn, "chat"); err == nil || !strings.Contains(err.Error(), "stop that bridge first") {
		t.Errorf("a slot that is read: %v", err)
	}
	stream.Close(ctx)
	testkit.SQL(t, dsn, "INSERT INTO rooms VALUES (3, 'next', '')")
	retained, err := RetainedBy(ctx, dsn, "chat")
	if err != nil || retained.Bytes <= 0 || retained.Confirmed <= slot.At || retained.Free != -1 || retained.Status != "reserved" {
		t.Fatalf("%+v, %v", retained, err)
	}
	for { // a slot becomes free a moment after its reader has gone
		if stream, err = OpenStream(ctx, dsn, "chat", retained.Confirmed); err == nil {
			break
		}
		if !strings.Contains(err.Error(), "another bridge is reading it") {
			t.Fatal(err)
		}
	}
	if got := changes(t, stream, "next"); len(got) != 1 {
		t.Errorf("a second reader gets %q", got)
	}
	stream.Close(ctx)
	for err := DropSlot(ctx, dsn, "chat"); err != nil; err = DropSlot(ctx, dsn, "chat") {
		if !strings.Contains(err.Error(), "another bridge is reading it") {
			t.Fatal(err)
		}
	}
	if _, err := RetainedBy(ctx, dsn, "chat"); !errors.Is(err, ErrNoSlot) {
		t.Errorf("a slot that was removed: %v", err)
	}
	if _, err := OpenStream(ctx, dsn, "chat", slot.At); !errors.Is(err, ErrNoSlot) {
		t.Errorf("reading a slot that was removed: %v", err)
	}
}

// The text describes what the database retains.
func TestHeld(t *testing.T) {
	for want, h := range map[string]Retained{
		"s holds back 512 B of WAL since 0/1A": {Slot: "s", Confirmed: 0x1a, Bytes: 512, Free: -1},
		"s holds back 1.5 MiB of WAL since 1/0, and is lost after another 2.0 GiB (max_slot_wal_keep_size)": {
			Slot: "s", Confirmed: 1 << 32, Bytes: 3 << 19, Free: 2 << 30,
		},
		"s is lost: the database has removed WAL that it needs": {Slot: "s", Status: "lost"},
	} {
		if got := h.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for name, fits := range map[string]bool{"chat_2": true, "": false, "Chat": false, "a-b": false, strings.Repeat("x", 49): false} {
		if err := CheckSlotName(name); (err == nil) != fits {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A damaged stream is an error.
func TestDamagedStreams(t *testing.T) {
	for _, data := range []string{"", "k", "w", "w" + strings.Repeat("\x00", 24) + "I\x00\x00\x00\x01N\x00\x00", "w" + strings.Repeat("\x00", 24) + "C" + strings.Repeat("\x00", 25)} {
		s := &Stream{relations: map[uint32]*relation{}}
		if tx, err := s.take(t.Context(), []byte(data)); tx != nil || !errors.Is(err, errStream) {
			t.Errorf("%q: %+v, %v", data, tx, err)
		}
	}
}
