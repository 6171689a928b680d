package bridge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestTinodeIsFollowed(t *testing.T) {
	dsn := testkit.Postgres(t)
	for seed := range uint64(3) {
		testkit.SQL(t, dsn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP PUBLICATION IF EXISTS chat")
		b := newBed(t, "tinode", dsn, testkit.FakeKafka(t).ListenAddrs())
		r := rand.New(rand.NewPCG(seed, 67))
		s := chats.NewTinodeChanges(r, b.now)
		b.run(s.Begin())
		users := []string{"101", "102", "103", "104"}
		if kills := followHalf(t, b, r, s.Step, users, s.Topics); kills < 4 {
			t.Errorf("seed %d: killed %d times", seed, kills)
		}
		got, _ := b.fold("parts.")
		for _, user := range s.Users {
			for _, topic := range s.Topics {
				want := s.Want(user, topic)
				if v, _ := got.View(fmt.Sprint(user), topic); v.Member != want.Member || want.Member && v.Unread != want.Unread {
					t.Errorf("seed %d: %d in %s: %v, %d; the rows say %+v", seed, user, topic, v.Member, v.Unread, want)
				}
			}
		}
		n := s.Heads()["grpB"] + 1
		b.run(fmt.Sprintf(`INSERT INTO messages (createdat, seqid, topic, "from", content) VALUES (now(), %d, 'grpB', 999, '"for all"')`, n))
		b.follow(r, 0)
		got, _ = b.fold("parts.")
		for _, user := range users { // each user deletes it for themselves
			b.run(fmt.Sprintf("INSERT INTO dellog (topic, deletedfor, delid, low, hi) VALUES ('grpB', %s, 1, %d, %d)", user, n, n+1))
		}
		b.follow(r, 0)
		hidden, _ := b.fold("parts.")
		for _, user := range users {
			before, _ := got.View(user, "grpB")
			if v, _ := hidden.View(user, "grpB"); before.Member && v.Unread != before.Unread-1 {
				t.Errorf("seed %d: %s has %d unread, and %d once they have deleted one of these for themselves", seed, user, before.Unread, v.Unread)
			}
		}
		b.run("UPDATE topics SET state = 20, stateat = now() WHERE name = 'grpA'", "DELETE FROM subscriptions WHERE topic = 'grpB' AND userid = 101",
			"DELETE FROM topics WHERE name = 'p2pX'")
		b.follow(r, 0)
		got, _ = b.fold("parts.")
		for _, user := range users {
			for _, topic := range []string{"grpA", "grpB", "p2pX"} {
				if v, _ := got.View(user, topic); (topic != "grpB" || user == "101") && (v.Member || v.Unread != 0) {
					t.Errorf("seed %d: %s has %d unread in %s, which is deleted, or which they have left", seed, user, v.Unread, topic)
				}
			}
		}
		dropSlot(t, dsn)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
