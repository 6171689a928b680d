package bridge

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Bob edits a reply, so that it mentions Cem. The database streams that before others see it,
// because it waits for a standby. The bridge looks the edit up, so it waits, and says why.
func TestCommitsThatNobodySees(t *testing.T) {
	pg := testkit.RestartablePostgres(t)
	testkit.SQL(t, pg.DSN, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	pg.Restart(true)
	b := newBed(t, "synapse", pg.DSN+"?options=-csynchronous_commit%3Dlocal", testkit.FakeKafka(t).ListenAddrs())
	const ann, bob, cem, room = "@ann:here", "@bob:here", "@cem:here", "!general:here"
	s := chats.NewSynapse(0)
	s.Clock = b.now
	s.Room(room, ann, bob, cem)
	root := s.Send(room, ann, chats.Message{Body: "words"})
	reply := s.Send(room, bob, chats.Message{Body: "words", Thread: root})
	b.run(s.Changes())
	b.publish()
	made, err := source.CreateSlot(t.Context(), b.dsn, slot)
	if err != nil {
		t.Fatal(err)
	}
	b.importTo("parts.", made)
	made.Close(t.Context())

	conf := b.config()
	conf.visible = 100 * time.Millisecond
	bridge := New(conf)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	followed := make(chan error, 1)
	go func() { followed <- bridge.Run(ctx) }()
	late, err := pgx.Connect(t.Context(), pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = late.Close(context.Background()) }() // it has ended
	s.Send(room, bob, chats.Message{Edits: reply, Body: "edited", Mentions: []string{cem}})
	edit, committed := s.Changes(), make(chan error, 1)
	go func() {
		_, err := late.Exec(ctx, edit, pgx.QueryExecModeSimpleProtocol)
		committed <- err
	}()
	testkit.Await(t, "the bridge says that it waits for the edit", func() bool {
		return strings.Contains(strings.Join(bridge.Ready().Lines, ""), "it waits for a synchronous standby")
	})
	select {
	case err := <-committed:
		t.Fatalf("the edit did not wait: %v", err)
	default:
	}
	b.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	stop()
	t.Logf("the bridge ended: %v", <-followed) // the next one continues from its state
	b.follow(rand.New(rand.NewPCG(1, 1)), 0)
	b.importTo("whole.", nil)
	want, _ := b.fold("whole.")
	got, _ := b.fold("parts.")
	b.same(want, got, []string{ann, bob, cem}, []string{room}, []string{root})
	if v, _ := got.Thread(cem, room, root); !v.Following || v.Mentions != 1 {
		t.Errorf("the edit mentions cem: %+v", v)
	}
	dropSlot(t, pg.DSN)
}
