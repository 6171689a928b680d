package bridge

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// The test imports the first half of random stories. A bridge, which is killed at random points,
// follows the rest. The numbers equal those of an import of everything.
func TestMattermostIsFollowed(t *testing.T) {
	users := []string{"ann", "bob", "cem", "dee"}
	dsn := testkit.Postgres(t)
	for seed := range uint64(2) {
		testkit.SQL(t, dsn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP PUBLICATION IF EXISTS chat")
		b := newBed(t, "mattermost", dsn, testkit.FakeKafka(t).ListenAddrs())
		r := rand.New(rand.NewPCG(seed, 17))
		m := &chats.Mattermost{Now: b.now}
		b.run(m.Begin(users, []string{"general", "random", "direct"})...)
		b.publish()
		for range 150 {
			b.run(m.Step(r, users)...)
		}
		made, err := source.CreateSlot(t.Context(), dsn, slot)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 { // the snapshot does not have these
			b.run(m.Step(r, users)...)
		}
		b.importTo("parts.", made)
		made.Close(t.Context())
		kills := 0
		for range 2 {
			for range 100 {
				b.run(m.Step(r, users)...)
			}
			kills += b.follow(r, 4)
		}
		b.importTo("whole.", nil)
		want, _ := b.fold("whole.")
		got, records := b.fold("parts.")
		b.once(records)
		channels, roots := m.Names()
		b.same(want, got, users, channels, roots)
		if kills < 4 {
			t.Errorf("seed %d: killed %d times", seed, kills)
		}
		dropSlot(t, dsn)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A user who leaves a channel loses their mute of it, because Mattermost removes the row that has
// it. This holds even if the bridge has not seen the mute itself.
func TestMattermostForgetsTheMuteOfWhoLeaves(t *testing.T) {
	dsn := testkit.Postgres(t)
	b := newBed(t, "mattermost", dsn, testkit.FakeKafka(t).ListenAddrs())
	m := &chats.Mattermost{Now: b.now}
	users := []string{"ann", "bob"}
	b.run(m.Begin(users, []string{"general", "random"})...)
	b.publish()
	b.run(m.Mute("general", "ann", true)...)
	b.importAtSlot()
	b.run(m.Mute("general", "bob", true)...)
	b.run(m.Mute("random", "bob", true)...)
	b.run(m.Mute("random", "ann", true)...)
	for _, user := range users {
		b.run(m.Leave("general", user)...)
		b.run(m.Leave("random", user)...)
	}
	b.run(m.Join("general", "bob")...)
	b.run(m.Join("random", "bob")...)
	b.run(m.Mute("random", "bob", true)...)
	b.follow(rand.New(rand.NewPCG(1, 1)), 0)
	b.importTo("whole.", nil)
	want, _ := b.fold("whole.")
	got, _ := b.fold("parts.")
	b.same(want, got, users, []string{"general", "random"}, nil)
	if v, _ := got.View("bob", "random"); !v.Member || !v.Muted {
		t.Errorf("who came back and muted the channel again: %+v", v)
	}
	dropSlot(t, dsn)
}

// dropSlot removes the slot. A slot becomes free a moment after its reader has gone.
func dropSlot(t *testing.T, dsn string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := source.DropSlot(t.Context(), dsn, slot)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "another bridge is reading it") || time.Now().After(end) {
			t.Error(err)
			return
		}
	}
}
