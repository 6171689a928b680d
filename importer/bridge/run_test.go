package bridge

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A bridge refuses to begin if changes would be missing.
func TestBeginnings(t *testing.T) {
	conf := &Config{Product: "mattermost", Slot: "chat", Source: "here"}
	done := &importer.State{Phase: "done", Source: "here", LSN: "0/20"}
	free := &source.Retained{Slot: "chat", Confirmed: 0x20, Status: "reserved"}
	for want, c := range map[string]struct {
		state    *importer.State
		retained *source.Retained
	}{
		"there is no import mattermost/chat in these topics":        {nil, free},
		"the import mattermost/chat is not finished":                {&importer.State{Phase: "reads", Source: "here", LSN: "0/20"}, free},
		"read there, and --source is here":                          {&importer.State{Phase: "done", Source: "there", LSN: "0/20"}, free},
		"made no replication slot":                                  {&importer.State{Phase: "done", Source: "here"}, free},
		"has no replication slot chat any more: changes since 0/20": {done, nil},
		"has removed WAL that the slot chat needs":                  {done, &source.Retained{Slot: "chat", Confirmed: 0x20, Status: "lost"}},
		"somebody else has read the slot chat up to 0/21":           {done, &source.Retained{Slot: "chat", Confirmed: 0x21}},
	} {
		_, err := begin(conf, c.state, c.retained)
		var refused RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if from, err := begin(conf, done, free); err != nil || from != 0x20 {
		t.Errorf("%v, %v", from, err)
	}
}

// followed returns a Mattermost database whose first messages are imported.
func followed(t *testing.T, brokers []string) (b *bed, m *chats.Mattermost) {
	t.Helper()
	b = newBed(t, "mattermost", testkit.Postgres(t), brokers)
	m = &chats.Mattermost{Now: b.now}
	b.run(m.Begin([]string{"ann", "bob"}, []string{"general"})...)
	b.publish()
	made, err := source.CreateSlot(t.Context(), b.dsn, slot)
	if err != nil {
		t.Fatal(err)
	}
	b.run(m.Post("general", "ann", "first")...)
	b.importTo("parts.", made)
	made.Close(t.Context())
	return b, m
}

// A second bridge takes over, and the first one reports that instead of writing. The second one
// survives a database that breaks off its connections.
func TestASecondBridgeTakesOver(t *testing.T) {
	b, m := followed(t, testkit.FakeKafka(t).ListenAddrs())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begun, ended := make(chan struct{}), make(chan error, 1)
	conf := b.config()
	conf.reached = func(source.LSN) bool {
		select {
		case <-begun:
		default:
			close(begun)
		}
		return false
	}
	first := New(conf)
	go func() { ended <- first.Run(ctx) }()
	<-begun
	if !first.Ready().Ready {
		t.Error("a bridge that follows is not ready")
	}
	take := make(chan error, 1)
	ctx2, stop := context.WithCancel(ctx)
	second := New(b.config())
	go func() { take <- second.Run(ctx2) }()
	var err error
	for err == nil { // the first bridge notices when it writes
		b.run(m.Post("general", "ann", "more")...)
		select {
		case err = <-ended:
		case <-time.After(10 * time.Millisecond):
		}
	}
	var refused RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "another bridge mattermost/chat has begun") || first.Ready().Ready {
		t.Errorf("the first bridge: %v", err)
	}
	for !second.Ready().Ready {
		select {
		case err := <-take:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	b.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tidemark import'")
	b.run(m.Post("general", "ann", "after the database broke off")...)
	stop()
	t.Logf("the broken import ended: %v", <-take) // the next one continues from its state in any case
	b.follow(rand.New(rand.NewPCG(1, 1)), 0)
	got, posted := b.fold("parts.")
	b.once(posted)
	_, posts := m.Names()
	if v, _ := got.View("bob", "general"); int(v.Unread) != len(posts) || len(posted) != len(posts) {
		t.Errorf("bob has %d unread of %d posts, of which %d are written", v.Unread, len(posts), len(posted))
	}
}

// The database is away when a session of a bridge begins. The bridge tries again, and is not ready
// meanwhile.
func TestADatabaseThatIsAway(t *testing.T) {
	b := &bed{t: t, product: "mattermost", dsn: "postgres://127.0.0.1:1/x", kafka: config.Kafka{Brokers: testkit.FakeKafka(t).ListenAddrs()}}
	if err := kafkaadmin.Create(t.Context(), kadm.NewClient(testkit.Client(t, b.kafka.Brokers)), events.PrefixedTopicSpecs("parts.", partitions, 1)); err != nil {
		t.Fatal(err)
	}
	bridge := New(b.config())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- bridge.Run(ctx) }()
	testkit.Await(t, "the bridge says that the database is away", func() bool {
		return strings.Contains(strings.Join(bridge.Ready().Lines, ""), "connection refused")
	})
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A transaction that is too large for one batch is written once, wherever the bridge is killed.
func TestLargeTransactions(t *testing.T) {
	b, m := followed(t, testkit.FakeKafka(t).ListenAddrs())
	b.part = 20
	b.run(m.Post("general", "ann", "before")...)
	b.run(`INSERT INTO posts SELECT 'large' || n, ` + strconv.FormatInt(b.now(), 10) + ` + n, 0, 0, 0, 'ann', 'general', '', '', 'words', '', false FROM generate_series(1, 300) n`)
	b.run(m.Post("general", "ann", "behind")...)
	if kills := b.follow(rand.New(rand.NewPCG(4, 4)), 6); kills < 4 {
		t.Errorf("killed %d times", kills)
	}
	got, posted := b.fold("parts.")
	b.once(posted)
	if v, _ := got.View("bob", "general"); v.Unread != 303 {
		t.Errorf("%d unread of 303", v.Unread)
	}
}

// On a real Kafka, too, a bridge that is killed at random points writes each event once.
func TestBridgeOnKafka(t *testing.T) {
	b, m := followed(t, testkit.KafkaN(t, 1).Brokers)
	r := rand.New(rand.NewPCG(2, 2))
	users := []string{"ann", "bob"}
	for range 150 {
		b.run(m.Step(r, users)...)
	}
	kills := b.follow(r, 5)
	b.importTo("whole.", nil)
	want, _ := b.fold("whole.")
	got, posted := b.fold("parts.")
	b.once(posted)
	channels, roots := m.Names()
	b.same(want, got, users, channels, roots)
	if kills < 3 {
		t.Errorf("killed %d times", kills)
	}
}

// The database is down when the bridge connects, as after a kill. The bridge reports that and tries
// again.
func TestADatabaseThatIsDownIsAwaited(t *testing.T) {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	if err := kafkaadmin.Create(t.Context(), kadm.NewClient(testkit.Client(t, brokers)), events.PrefixedTopicSpecs("parts.", 1, 1)); err != nil {
		t.Fatal(err)
	}
	bridge := New(Config{
		Kafka: config.Kafka{Brokers: brokers}, Prefix: "parts.", Product: "mattermost", Slot: slot, Source: "here", DSN: "postgres://tidemark@127.0.0.1:1/none",
		Log: slog.New(slog.DiscardHandler),
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- bridge.Run(ctx) }()
	testkit.Await(t, "the bridge says that the database does not answer", func() bool {
		lines := bridge.Ready().Lines
		return len(lines) == 1 && strings.Contains(lines[0], "127.0.0.1:1")
	})
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
