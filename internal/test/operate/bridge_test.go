package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/bridge"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/live"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A transaction that stays open in the chat product's database keeps the log for the bridge's slot,
// until little is left of what the database keeps at most. Then the database takes no connections.
func TestABridgeInTroubleFiresItsAlerts(t *testing.T) {
	testkit.NeedsServer(t)
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	dsn := testkit.Postgres(t)
	const slot, prefix = "chat", "bridged."
	kafka := config.Kafka{Brokers: s.brokers}
	if err := kafkaadmin.Create(t.Context(), kadm.NewClient(s.producer), events.PrefixedTopicSpecs(prefix, 1, 1)); err != nil {
		t.Fatal(err)
	}
	testkit.SQL(t, dsn, "ALTER SYSTEM SET max_slot_wal_keep_size = '5200MB'")
	testkit.SQL(t, dsn, "SELECT pg_reload_conf()")
	testkit.SQL(t, dsn, "CREATE DATABASE other")
	clock := int64(1_700_000_000_000)
	chat := &chats.Mattermost{Now: func() int64 { clock++; return clock }}
	for _, sql := range chat.Begin([]string{"ann", "bob"}, []string{"general"}) {
		testkit.SQL(t, dsn, sql)
	}
	_, sql, found := strings.Cut(fmt.Sprint(source.CheckPublications(t.Context(), dsn, slot, live.Follows("mattermost"))), ":\n")
	if !found {
		t.Fatal("the database has publications")
	}
	testkit.SQL(t, dsn, sql)
	imported(t, kafka, prefix, dsn, slot)

	r := obs.NewRegistry(obs.Build{})
	b := bridge.New(bridge.Config{
		Kafka: kafka, Prefix: prefix, Product: "mattermost", Slot: slot, DSN: dsn, Source: "here", Log: slog.New(slog.DiscardHandler), Metrics: r,
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	url := serve(t, obs.Metrics(r, false))
	s.until(func() error {
		if now := s.series(url); now["tidemark_bridge_connected{}"] != 1 || now["tidemark_bridge_slot_free_bytes{}"] == 0 {
			return fmt.Errorf("the bridge does not follow: %v", b.Ready().Lines)
		}
		return nil
	})
	fine := s.series(url)
	s.fires(fine, fine)

	open, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close(context.Background()) }() // this ends the transaction
	if _, err := open.Exec(t.Context(), "BEGIN; INSERT INTO users VALUES ('cem', 'cem')", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	for range 7 { // 16 MiB each
		testkit.SQL(t, dsn, "SELECT pg_logical_emit_message(false, 'test', 'x')")
		testkit.SQL(t, dsn, "SELECT pg_switch_wal()")
	}
	s.until(func() error {
		if free := s.series(url)["tidemark_bridge_slot_free_bytes{}"]; free >= 5<<30 {
			return fmt.Errorf("%v bytes are left of the slot", free)
		}
		return nil
	})
	held := s.series(url)
	if n := held["tidemark_bridge_slot_held_bytes{}"]; n < 100<<20 {
		t.Errorf("the slot holds back %v bytes", n)
	}
	s.fires(fine, held, "TidemarkSlotHoldsBack")

	if err := open.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(dsn, "/postgres", "/other", 1)
	testkit.SQL(t, other, "ALTER DATABASE postgres ALLOW_CONNECTIONS false")
	testkit.SQL(t, other, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'")
	s.until(func() error {
		if now := s.series(url); now["tidemark_bridge_connected{}"] != 0 || now["tidemark_bridge_sessions_failed_total{}"] < 2 {
			return fmt.Errorf("the bridge follows the database")
		}
		return nil
	})
	s.fires(fine, without(s.series(url), "tidemark_bridge_slot"), "TidemarkBridgeDown")

	testkit.SQL(t, other, "ALTER DATABASE postgres ALLOW_CONNECTIONS true")
	s.until(func() error {
		if s.series(url)["tidemark_bridge_connected{}"] != 1 {
			return fmt.Errorf("the bridge does not follow: %v", b.Ready().Lines)
		}
		return nil
	})
}

// imported makes a slot, and imports a Mattermost as of there.
func imported(t *testing.T, kafka config.Kafka, prefix, dsn, slot string) {
	t.Helper()
	made, err := source.CreateSlot(t.Context(), dsn, slot)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close(t.Context())
	tables, err := source.OpenSnapshot(t.Context(), dsn, made.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close(t.Context())
	conf := importer.Config{Kafka: kafka, Prefix: prefix, Product: "mattermost", Slot: slot, Source: "here", LSN: made.At.String()}
	if conf.Moment, err = tables.Moment(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := importer.Run(t.Context(), conf, &product.Mattermost{Source: tables}); err != nil {
		t.Fatal(err)
	}
}
