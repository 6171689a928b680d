package bridge

import (
	"math/rand/v2"
	"testing"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// The test imports the first half of random stories of a Discourse site. A bridge, which is killed
// at random points, follows the rest. The numbers equal those of an import of everything.
func TestDiscourseIsFollowed(t *testing.T) {
	const users, channels = 4, 3
	dsn := testkit.Postgres(t)
	for seed := range uint64(3) {
		testkit.SQL(t, dsn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP PUBLICATION IF EXISTS chat")
		b := newBed(t, "discourse", dsn, testkit.FakeKafka(t).ListenAddrs())
		r := rand.New(rand.NewPCG(seed, 37))
		d := &chats.Discourse{Now: b.now}
		b.run(d.Begin(users, channels)...)
		b.publish()
		play := func(n int) {
			for range n {
				b.run(d.Step(r, users, channels)...)
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
		rooms, roots := d.Names()
		b.same(want, got, []string{"1", "2", "3", "4"}, rooms, roots)
		if kills < 4 {
			t.Errorf("seed %d: killed %d times", seed, kills)
		}
		b.run("UPDATE chat_channels SET deleted_at = now() WHERE id = 2")
		b.follow(r, 0)
		got, _ = b.fold("parts.")
		for _, user := range []string{"1", "2", "3", "4"} {
			if v, _ := got.View(user, "2"); v.Member || v.Unread != 0 {
				t.Errorf("seed %d: %s has %d unread in a channel that is deleted", seed, user, v.Unread)
			}
		}
		dropSlot(t, dsn)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
