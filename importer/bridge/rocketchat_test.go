package bridge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// documents writes the changes of a MongoDB as Debezium's connector does: a topic for each
// collection, in the order of the changes, with whole documents and without their former content.
type documents struct {
	b       *bed
	c       *chats.RocketChat
	cl      *kgo.Client
	r       *rand.Rand
	was     map[string]map[string]string // extended JSON, by collection and id
	schemas bool
	topics  map[string]bool
	second  int64
	order   int
	last    source.LSN
}

func newDocuments(b *bed, c *chats.RocketChat, r *rand.Rand) *documents {
	b.t.Helper()
	d := &documents{b: b, c: c, r: r, was: map[string]map[string]string{}, topics: map[string]bool{}, schemas: r.IntN(2) == 0}
	d.cl = testkit.Client(b.t, b.kafka.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	d.changes(func(string, string, string, *string) {})
	b.debezium = "rc"
	return d
}

// changes calls fn for each change since the last call.
func (d *documents) changes(fn func(op, collection, id string, after *string)) {
	d.b.t.Helper()
	all := d.c.Documents()
	for _, collection := range []string{"rocketchat_room", "rocketchat_message", "rocketchat_subscription"} {
		was, now := d.was[collection], map[string]string{}
		for _, op := range []string{"c", "u"} { // so that a reply precedes its root
			for _, document := range all[collection] {
				id := document[0].Value.(string)
				text, err := bson.MarshalExtJSON(document, false, false)
				if err != nil {
					d.b.t.Fatal(err)
				}
				after := string(text)
				now[id] = after
				before, there := was[id]
				if op == "c" && !there || op == "u" && there && before != after {
					fn(op, collection, id, &after)
				}
			}
		}
		for id := range was {
			if _, there := now[id]; !there {
				fn("d", collection, id, nil)
			}
		}
		d.was[collection] = now
	}
}

// play plays random actions.
func (d *documents) play(n int) {
	for range n {
		d.c.Step()
		d.changes(d.send)
	}
	d.b.reached = d.last
}

func (d *documents) send(op, collection, id string, after *string) {
	if second := d.c.Now() / 1000; second > d.second {
		d.second, d.order = second, 0
	}
	d.order++
	d.last = source.LSN(d.second<<32 | int64(d.order))
	value := map[string]any{
		"before": nil, "after": after, "op": op, "ts_ms": d.c.Now(), "transaction": nil, "updateDescription": nil,
		"source": map[string]any{
			"version": "3.0.0.Final", "connector": "mongodb", "name": "rc", "ts_ms": d.second * 1000, "snapshot": "false", "db": "rocketchat",
			"sequence": nil, "collection": collection, "ord": d.order, "lsid": nil, "txnNumber": nil, "wallTime": nil,
		},
	}
	if op == "u" {
		value["updateDescription"] = map[string]any{"removedFields": nil, "updatedFields": "{}", "truncatedArrays": nil}
	}
	key := map[string]any{"id": fmt.Sprintf("%q", id)}
	d.produce(collection, key, value)
	if op == "d" {
		d.produce(collection, key, nil) // a tombstone
	}
}

func (d *documents) produce(collection string, key, value any) {
	topic := "rc.rocketchat." + collection
	if !d.topics[topic] {
		d.topics[topic] = true
		if _, err := kadm.NewClient(d.cl).CreateTopic(d.b.t.Context(), 1, 1, nil, topic); err != nil {
			d.b.t.Fatal(err)
		}
	}
	r := &kgo.Record{Topic: topic}
	for to, of := range map[*[]byte]any{&r.Key: key, &r.Value: value} {
		if of == nil {
			continue
		}
		if d.schemas {
			of = map[string]any{"schema": map[string]any{"type": "struct"}, "payload": of}
		}
		b, err := json.Marshal(of)
		if err != nil {
			d.b.t.Fatal(err)
		}
		*to = b
	}
	if err := d.cl.ProduceSync(d.b.t.Context(), r).FirstErr(); err != nil {
		d.b.t.Fatal(err)
	}
}

// dumped imports a dump of the current documents.
func (d *documents) dumped(prefix string) (dir string) {
	d.b.t.Helper()
	dir = d.b.t.TempDir()
	if err := d.c.Write(dir); err != nil {
		d.b.t.Fatal(err)
	}
	dump, err := source.OpenDump(dir)
	if err != nil {
		d.b.t.Fatal(err)
	}
	conf := importer.Config{Kafka: d.b.kafka, Prefix: prefix, Product: d.b.product, Slot: slot, Source: dir}
	if _, err := importer.Run(d.b.t.Context(), conf, &product.RocketChat{Source: dump}); err != nil {
		d.b.t.Fatal(err)
	}
	return dir
}

// The test imports the first half of random stories of a Rocket.Chat server from a dump. A bridge,
// which is killed at random points, follows the rest from the topics that Debezium writes. The
// numbers equal those of an import of everything, and those of the users' actions.
func TestRocketChatIsFollowed(t *testing.T) {
	for seed := range uint64(3) {
		brokers := testkit.FakeKafka(t).ListenAddrs
		if seed == 0 {
			brokers = func() []string { return testkit.KafkaN(t, 1).Brokers }
		}
		b := &bed{t: t, product: rocketChat, kafka: config.Kafka{Brokers: brokers()}}
		for _, prefix := range []string{"whole.", "parts."} {
			if err := kafkaadmin.Create(t.Context(), kadm.NewClient(testkit.Client(t, b.kafka.Brokers)), events.PrefixedTopicSpecs(prefix, partitions, 1)); err != nil {
				t.Fatal(err)
			}
		}
		r := rand.New(rand.NewPCG(seed, 41))
		c := chats.PlayRocketChat(r, time.Now().Add(-80*24*time.Hour).UnixMilli(), 0)
		c.KeepRoots = true
		d := newDocuments(b, c, r)
		d.play(150) // both Debezium and the import have these
		b.dsn = d.dumped("parts.")
		kills := 0
		for range 2 {
			d.play(120)
			kills += b.follow(r, 4)
		}
		d.dumped("whole.")
		want, _ := b.fold("whole.")
		got, records := b.fold("parts.")
		b.once(records)
		b.same(want, got, c.Users, c.Rooms, nil)
		for _, room := range c.Rooms {
			for _, user := range c.Users {
				w := c.Want(user, room)
				if v, _ := got.View(user, room); v.Member != w.Member || v.Member && (v.Unread != w.Unread || v.Mentions != w.Mentions) {
					t.Errorf("%s in %s: member %v, %d unread, %d mentions; by what was done %+v", user, room, v.Member, v.Unread, v.Mentions, w)
				}
				for _, root := range c.Threads(room) {
					follows, unread := c.WantThread(user, room, root)
					th, _ := got.Thread(user, room, root)
					if v, _ := got.View(user, room); v.Member && (th.Following != follows || th.Following && th.Unread < unread) {
						t.Errorf("%s in thread %s of %s: follows %v with %d unread; by what was done %v, at least %d", user, root, room, th.Following, th.Unread, follows, unread)
					}
				}
			}
		}
		if kills < 4 {
			t.Errorf("seed %d: killed %d times", seed, kills)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// The bridge counts what it cannot know: documents that no change has shown, and changes without a
// document.
func TestRocketChatUnknown(t *testing.T) {
	b := &bed{t: t, product: rocketChat, kafka: config.Kafka{Brokers: testkit.FakeKafka(t).ListenAddrs()}}
	if err := kafkaadmin.Create(t.Context(), kadm.NewClient(testkit.Client(t, b.kafka.Brokers)), events.PrefixedTopicSpecs("parts.", partitions, 1)); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	d := newDocuments(b, chats.PlayRocketChat(r, time.Now().Add(-10*24*time.Hour).UnixMilli(), 20), r)
	b.dsn = d.dumped("parts.")
	d.send("d", "rocketchat_message", "nobody-knows", nil)
	d.send("d", "rocketchat_subscription", "nobody-knows", nil)
	d.send("u", "rocketchat_message", "without", nil)
	post := `{"_id":"m","rid":"r","ts":{"$date":` + fmt.Sprint(d.c.Now()) + `},"u":{"_id":"ann"},"msg":"words","mentions":[{"_id":"bob"}],"tcount":{"$numberLong":"0"}}`
	d.send("c", "rocketchat_message", "m", &post)
	d.send("d", "rocketchat_room", "other", nil)
	b.reached = d.last
	conf := b.config()
	conf.reached = func(at source.LSN) bool { return at >= d.last }
	bridge := New(conf)
	if err := bridge.Run(t.Context()); err == nil || err.Error() != errReached.Error() {
		t.Fatal(err)
	}
	reasons := []string{}
	for reason := range bridge.status.reasons {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	want := []string{
		"a change without its document: capture.mode must be change_streams_update_full; or the document was removed meanwhile",
		"a message was removed that neither the dump nor a change of the last 97 days has shown: it stays",
		"a subscription was removed that neither the dump nor a change has shown: its member stays",
	}
	if !slices.Equal(reasons, want) {
		t.Errorf("got %q", reasons)
	}
	if _, posted := b.fold("parts."); posted["r m"] != 1 {
		t.Errorf("%v", posted)
	}
}
