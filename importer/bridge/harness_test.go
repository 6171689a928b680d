package bridge

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/folded"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

const (
	partitions = 2
	slot       = "chat"
)

// bed is a database of a product, and brokers.
type bed struct {
	t        *testing.T
	product  string
	dsn      string
	kafka    config.Kafka
	conn     *pgx.Conn
	debezium string     // prefix of Debezium's topics
	reached  source.LSN // where to end with Debezium; without it, the end of the log
	table    struct {   // of the product "table"
		mapping  product.Mapping
		changing map[string]product.Changing
	}
	last int64
	part int
}

func newBed(t *testing.T, product, dsn string, brokers []string) *bed {
	t.Helper()
	b := &bed{t: t, product: product, dsn: dsn, kafka: config.Kafka{Brokers: brokers}}
	b.connect()
	for _, prefix := range []string{"whole.", "parts."} {
		if err := kafkaadmin.Create(t.Context(), kadm.NewClient(testkit.Client(t, brokers)), events.PrefixedTopicSpecs(prefix, partitions, 1)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bed) connect() {
	conn, err := pgx.Connect(b.t.Context(), b.dsn)
	if err != nil {
		b.t.Fatal(err)
	}
	b.conn = conn
	b.t.Cleanup(func() { _ = conn.Close(context.Background()) })
}

// now returns a time that grows with each call. It is a minute behind the database's clock, because
// several calls in one millisecond must not get ahead of that.
func (b *bed) now() int64 {
	b.last = max(b.last+1, time.Now().Add(-time.Minute).UnixMilli())
	return b.last
}

// run runs transactions.
func (b *bed) run(transactions ...string) {
	b.t.Helper()
	for _, sql := range transactions {
		if _, err := b.conn.Exec(b.t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			b.t.Fatalf("%v in\n%s", err, sql)
		}
	}
}

// publish makes the publications that an import asks for.
func (b *bed) publish() {
	b.t.Helper()
	conf := b.config()
	err := source.CheckPublications(b.t.Context(), b.dsn, slot, conf.follows())
	if err == nil {
		b.t.Fatal("a database without publications is taken")
	}
	_, sql, found := strings.Cut(err.Error(), ":\n")
	if !found {
		b.t.Fatal(err)
	}
	b.run(sql)
	if err := source.CheckPublications(b.t.Context(), b.dsn, slot, conf.follows()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) mapping(tables source.Tables) importer.Product {
	switch b.product {
	case "synapse":
		return &product.Synapse{Source: tables}
	case "zulip":
		return &product.Zulip{Source: tables}
	case "tinode":
		return &product.Tinode{Source: tables}
	case "discourse":
		return &product.Discourse{Source: tables}
	case "table":
		return &product.Table{Source: tables, Mapping: b.table.mapping}
	}
	return &product.Mattermost{Source: tables}
}

// importTo imports the database as of a slot; nil: as of now.
func (b *bed) importTo(prefix string, of *source.Slot) {
	b.t.Helper()
	conf := importer.Config{Kafka: b.kafka, Prefix: prefix, Product: b.product, Slot: slot, Source: "here"}
	snapshot := ""
	if of != nil {
		snapshot, conf.LSN = of.Snapshot, of.At.String()
	}
	tables, err := source.OpenSnapshot(b.t.Context(), b.dsn, snapshot)
	if err != nil {
		b.t.Fatal(err)
	}
	defer tables.Close(b.t.Context())
	if conf.Moment, err = tables.Moment(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	sum, err := importer.Run(b.t.Context(), conf, b.mapping(tables))
	if err != nil {
		b.t.Fatal(err)
	}
	if len(sum.Problems) > 0 {
		b.t.Fatalf("not mapped: %+v", sum.Problems)
	}
}

// importAtSlot makes a slot, and imports the database as of it.
func (b *bed) importAtSlot() {
	b.t.Helper()
	made, err := source.CreateSlot(b.t.Context(), b.dsn, slot)
	if err != nil {
		b.t.Fatal(err)
	}
	b.importTo("parts.", made)
	made.Close(b.t.Context())
}

func (b *bed) config() Config {
	from := "here"
	if b.product == rocketChat {
		from = b.dsn
	}
	return Config{
		Kafka: b.kafka, Prefix: "parts.", Product: b.product, Slot: slot, DSN: b.dsn, Source: from, part: b.part,
		Log: slog.New(slog.NewTextHandler(b.t.Output(), nil)), Mapping: b.table.mapping, Changing: b.table.changing, Debezium: b.debezium,
	}
}

var errKilled = errors.New("killed")

// follow follows the database to the end of its log. Meanwhile it kills the bridge after random
// numbers of events and batches.
func (b *bed) follow(r *rand.Rand, most int) (kills int) {
	b.t.Helper()
	target := b.reached
	if b.debezium == "" {
		target = b.position()
	}
	for {
		conf := b.config()
		left := 1 + r.IntN(60)
		if kills >= most {
			left = 1 << 30
		}
		ctx, cancel := context.WithTimeoutCause(b.t.Context(), 2*time.Minute, errors.New("the bridge does not catch up"))
		conf.spare = func() error {
			if left--; left == 0 {
				return errKilled
			}
			return nil
		}
		conf.reached = func(at source.LSN) bool { return at >= target }
		err := New(conf).Run(ctx)
		cancel()
		switch {
		case errors.Is(err, errKilled):
			kills++
		case errors.Is(err, errReached):
			return kills
		default:
			b.t.Fatal(err)
		}
	}
}

// position returns the end of the database's log.
func (b *bed) position() source.LSN {
	b.t.Helper()
	var text string
	if err := b.conn.QueryRow(b.t.Context(), "SELECT pg_current_wal_lsn()::text").Scan(&text); err != nil {
		b.t.Fatal(err)
	}
	at, err := source.ParseLSN(text)
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}

// fold returns the model of the topics, and how often each message was posted.
func (b *bed) fold(prefix string) (m *model.Model, posted map[string]int) {
	b.t.Helper()
	return folded.Topics(b.t, b.kafka.Brokers, prefix)
}

// once fails if a message was written twice.
func (b *bed) once(posted map[string]int) {
	b.t.Helper()
	folded.Once(b.t, posted)
}

// same compares the numbers of all users in both models.
func (b *bed) same(want, got *model.Model, users, channels, roots []string) {
	b.t.Helper()
	folded.Same(b.t, want, got, users, channels, roots)
}
