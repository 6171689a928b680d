package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// connector writes the changes of a database as Debezium's connector for PostgreSQL does: a topic
// for each table, with its partitions by key, in the order of the commits.
type connector struct {
	b       *bed
	r       *rand.Rand
	cl      *kgo.Client
	stream  *source.Stream
	topics  map[string]int32 // partitions
	last    source.LSN       // end of the last commit
	lsn     source.LSN       // position of the last change
	schemas bool             // values with their schema
}

// newConnector returns a connector with a slot.
func newConnector(b *bed, r *rand.Rand) *connector {
	b.t.Helper()
	made, err := source.CreateSlot(b.t.Context(), b.dsn, slot)
	if err != nil {
		b.t.Fatal(err)
	}
	made.Close(b.t.Context())
	c := &connector{b: b, r: r, topics: map[string]int32{}, last: made.At, lsn: made.At, schemas: r.IntN(2) == 0}
	c.cl = testkit.Client(b.t, b.kafka.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if c.stream, err = source.OpenStream(b.t.Context(), b.dsn, slot, made.At); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.stream.Close(b.t.Context()) })
	b.debezium = "cdc"
	return c
}

// catchUp writes all new changes.
func (c *connector) catchUp() {
	c.b.t.Helper()
	target := c.b.position()
	for c.last < target && c.stream.Newest() < target {
		tx, err := c.stream.Next(c.b.t.Context(), 100*time.Millisecond)
		if err != nil {
			c.b.t.Fatal(err)
		}
		if tx != nil {
			c.write(tx)
		}
	}
	c.b.reached = c.lsn
}

func (c *connector) write(tx *source.Transaction) {
	for i := range tx.Changes {
		c.lsn = max(c.lsn, tx.At-source.LSN(len(tx.Changes))+source.LSN(i))
		x := &tx.Changes[i]
		op, before, after := "c", any(nil), any(columns(x.Row))
		switch x.Kind {
		case source.Updated:
			op = "u"
		case source.Removed:
			op, before, after = "d", after, nil
		}
		c.send(x.Row, op, before, after, tx, "false")
		if op == "d" {
			c.produce(x.Row, nil) // a tombstone
		}
	}
	c.last = tx.At
}

// columns returns a row as Debezium writes it, with numbers and booleans of their own types.
func columns(row *source.Row) map[string]any {
	all := map[string]any{}
	for _, column := range row.Columns() {
		text, ok := row.Get(column)
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case !ok:
			all[column] = nil
		case err == nil && column != "message" && column != "json" && column != "body":
			all[column] = n
		case text == "t" || text == "f":
			all[column] = text == "t"
		default:
			all[column] = text
		}
	}
	return all
}

func (c *connector) send(row *source.Row, op string, before, after any, tx *source.Transaction, snapshot string) {
	envelope := map[string]any{
		"before": before, "after": after, "op": op, "ts_ms": time.Now().UnixMilli(), "transaction": nil,
		"source": map[string]any{
			"version": "2.7.0.Final", "connector": "postgresql", "name": "cdc", "ts_ms": tx.Time.UnixMilli(), "snapshot": snapshot, "db": "postgres",
			"sequence": fmt.Sprintf(`["%d","%d"]`, uint64(c.last), uint64(c.lsn)), "schema": "public", "table": row.Table, "txId": tx.ID, "lsn": uint64(c.lsn), "xmin": nil,
		},
	}
	if c.schemas {
		envelope = map[string]any{"schema": map[string]any{"type": "struct", "name": "cdc.public." + row.Table + ".Envelope"}, "payload": envelope}
	}
	value, err := json.Marshal(envelope)
	if err != nil {
		c.b.t.Fatal(err)
	}
	c.produce(row, value)
}

func (c *connector) produce(row *source.Row, value []byte) {
	topic := "cdc.public." + row.Table
	if c.topics[topic] == 0 { // at the first change of the table
		c.topics[topic] = 1 + c.r.Int32N(2)
		if _, err := kadm.NewClient(c.cl).CreateTopic(c.b.t.Context(), c.topics[topic], 1, nil, topic); err != nil {
			c.b.t.Fatal(err)
		}
	}
	first := row.Columns()[0]
	key := row.Text(first)
	var hash int32
	for _, b := range []byte(key) {
		hash = hash*31 + int32(b)
	}
	r := &kgo.Record{Topic: topic, Partition: (hash&0x7fff + 1) % c.topics[topic], Key: []byte(fmt.Sprintf(`{"%s":"%s"}`, first, key)), Value: value}
	if err := c.cl.ProduceSync(c.b.t.Context(), r).FirstErr(); err != nil {
		c.b.t.Fatal(err)
	}
}

// snapshot writes a row as Debezium's initial read does.
func (c *connector) snapshot(row *source.Row, at time.Time) {
	c.send(row, "r", nil, columns(row), &source.Transaction{Time: at}, "first")
}

// debeziums returns a bed whose bridge follows Debezium's topics, and a function that makes the
// product's transactions.
func debeziums(t *testing.T, product, dsn string, brokers []string, seed uint64) (b *bed, r *rand.Rand, play func(int), names func() (users, channels, roots []string)) {
	t.Helper()
	testkit.SQL(t, dsn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP PUBLICATION IF EXISTS chat; DROP PUBLICATION IF EXISTS chat_inserts")
	b, r = newBed(t, product, dsn, brokers), rand.New(rand.NewPCG(seed, 31))
	switch product {
	case "mattermost":
		users := []string{"ann", "bob", "cem", "dee"}
		m := &chats.Mattermost{Now: b.now}
		b.run(m.Begin(users, []string{"general", "random", "direct"})...)
		play = func(n int) {
			for range n {
				b.run(m.Step(r, users)...)
			}
		}
		names = func() ([]string, []string, []string) {
			channels, roots := m.Names()
			return users, channels, roots
		}
	case "synapse":
		s := newStory(b, seed)
		b.run(s.Changes())
		play = func(n int) {
			for range n {
				s.step()
				b.run(s.Changes())
			}
		}
		names = func() ([]string, []string, []string) { return s.users, s.rooms, s.names() }
	case "discourse":
		d := &chats.Discourse{Now: b.now}
		b.run(d.Begin(4, 3)...)
		play = func(n int) {
			for range n {
				b.run(d.Step(r, 4, 3)...)
			}
		}
		names = func() ([]string, []string, []string) {
			channels, roots := d.Names()
			return []string{"1", "2", "3", "4"}, channels, roots
		}
	case "table":
		b.mapped()
		m := &chats.Table{Now: b.now}
		b.run(m.Begin(4, 3)...)
		play = func(n int) {
			for range n {
				b.run(m.Step(r, 4, 3)...)
			}
		}
		names = func() ([]string, []string, []string) {
			channels, roots := m.Names()
			return []string{"1", "2", "3", "4"}, channels, roots
		}
	}
	b.publish()
	return b, r, play, names
}

// The test imports the first half of random stories of each product whose changes a bridge reads
// from Debezium. The bridge, which is killed at random points, follows the rest from the topics that
// Debezium writes on a real Kafka. The numbers equal those of an import of everything.
func TestDebeziumIsFollowed(t *testing.T) {
	dsn := testkit.Postgres(t)
	for i, product := range []string{"mattermost", "synapse", "table", "discourse"} {
		t.Run(product, func(t *testing.T) {
			b, r, play, names := debeziums(t, product, dsn, testkit.KafkaN(t, 1).Brokers, uint64(i))
			play(60)
			c := newConnector(b, r)
			defer func() {
				c.stream.Close(t.Context())
				dropSlot(t, dsn)
			}()
			play(30) // both Debezium and the import have these
			c.catchUp()
			b.importTo("parts.", nil)
			kills := 0
			for range 2 {
				play(60)
				c.catchUp()
				kills += b.follow(r, 3)
			}
			b.importTo("whole.", nil)
			want, _ := b.fold("whole.")
			got, records := b.fold("parts.")
			b.once(records)
			users, channels, roots := names()
			b.same(want, got, users, channels, roots)
			if kills < 3 {
				t.Errorf("killed %d times", kills)
			}
		})
	}
}

// A bridge leaves out what Debezium read before the import. It refuses to continue if changes may
// be missing, and if it cannot read a change.
func TestDebeziumIsRefused(t *testing.T) {
	b, r, play, _ := debeziums(t, "mattermost", testkit.Postgres(t), testkit.FakeKafka(t).ListenAddrs(), 1)
	play(20)
	c := newConnector(b, r)
	row := source.NewRow("posts", 1, "id", "p0", "channelid", "general", "createat", "1")
	c.snapshot(row, time.Now().Add(-time.Hour))
	b.importTo("parts.", nil)
	play(20)
	c.catchUp()
	b.follow(r, 0)
	refused := func(want string) {
		t.Helper()
		var refusal RefusedError
		if err := New(b.config()).Run(t.Context()); !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	c.snapshot(row, time.Now().Add(time.Hour))
	refused("Debezium has read the table posts later than the import mattermost/chat, so changes in between are missing")
	c.produce(row, []byte(`{"id":"p0"}`))
	b.importTo("whole.", nil)
	// Both faults prevent a bridge that reads the second topics from the import on.
	conf := b.config()
	conf.Prefix = "whole."
	var refusal RefusedError
	if err := New(conf).Run(t.Context()); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "so changes in between are missing") && !strings.Contains(err.Error(), "it is no change that Debezium's connector") {
		t.Errorf("%v", err)
	}
	if _, err := kadm.NewClient(c.cl).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: kadm.StringPtr("compact")}}, "cdc.public.posts"); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the topic is compacted", func() bool {
		return strings.Contains(fmt.Sprint(New(conf).Run(t.Context())), "the topic cdc.public.posts is compacted")
	})
}
