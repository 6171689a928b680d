package bridge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// followHalf imports the first half of a story. A bridge, which is killed at random points, follows
// the rest. The numbers equal those of an import of everything.
func followHalf(t *testing.T, b *bed, r *rand.Rand, step func() string, users, channels []string) (kills int) {
	t.Helper()
	play := func(n int) {
		for range n {
			if sql := step(); sql != "" {
				b.run(sql)
			}
		}
	}
	b.publish()
	play(150)
	made, err := source.CreateSlot(t.Context(), b.dsn, slot)
	if err != nil {
		t.Fatal(err)
	}
	play(50) // the snapshot does not have these
	b.importTo("parts.", made)
	made.Close(t.Context())
	for range 2 {
		play(100)
		kills += b.follow(r, 4)
	}
	b.importTo("whole.", nil)
	want, _ := b.fold("whole.")
	got, records := b.fold("parts.")
	b.once(records)
	b.same(want, got, users, channels, nil)
	return kills
}

func TestZulipIsFollowed(t *testing.T) {
	dsn := testkit.Postgres(t)
	for seed := range uint64(3) {
		testkit.SQL(t, dsn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP PUBLICATION IF EXISTS chat")
		b := newBed(t, "zulip", dsn, testkit.FakeKafka(t).ListenAddrs())
		r := rand.New(rand.NewPCG(seed, 61))
		z := chats.NewZulipChanges(r, b.now)
		b.run(z.Begin())
		users := []string{"1", "2", "3", "4"}
		if kills := followHalf(t, b, r, z.Step, users, z.Channels); kills < 4 {
			t.Errorf("seed %d: killed %d times", seed, kills)
		}
		got, _ := b.fold("parts.")
		for _, user := range z.Users {
			for _, channel := range z.Channels {
				want := z.Want(user, channel)
				if v, _ := got.View(fmt.Sprint(user), channel); v.Member != want.Member || want.Member && (v.Unread != want.Unread || v.Mentions != want.Mentions) {
					t.Errorf("seed %d: %d in %s: %v, %d, %d; the flags say %+v", seed, user, channel, v.Member, v.Unread, v.Mentions, want)
				}
			}
		}
		b.run("UPDATE zerver_usermessage SET flags = flags # 4096") // pushes, which read nothing and mark nothing
		b.follow(r, 0)
		pushed, _ := b.fold("parts.")
		for _, user := range users {
			for _, channel := range z.Channels {
				before, _ := got.View(user, channel)
				if v, _ := pushed.View(user, channel); v.ReadEpoch != before.ReadEpoch {
					t.Errorf("seed %d: a push has marked something as unread for %s in %s", seed, user, channel)
				}
			}
		}
		b.run("UPDATE zerver_message SET content = 'edited' WHERE id = (SELECT max(id) FROM zerver_message)", "UPDATE zerver_stream SET deactivated = true WHERE id = 2")
		b.follow(r, 0)
		got, _ = b.fold("parts.")
		for _, user := range users {
			if v, _ := got.View(user, "12"); v.Member || v.Unread != 0 {
				t.Errorf("seed %d: %s has %d unread in a stream that is deactivated", seed, user, v.Unread)
			}
		}
		dropSlot(t, dsn)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
