package sqlsink

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// partitions of the topics in these tests.
const nParts = 3

// TestSink runs sinks against a real PostgreSQL.
func TestSink(t *testing.T) {
	s := &server{dsn: testkit.Postgres(t)}
	for name, test := range map[string]func(*testing.T, *server){
		"members come and go":    membersComeAndGo,
		"a wiped database":       wipedDatabase,
		"read again":             readAgain,
		"a database that is off": databaseOff,
		"a late writer":          lateWriter,
		"an older backup":        olderBackup,
		"other topics":           otherTopics,
		"verify":                 verified,
		"refusals":               refusals,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// rig has topics on an embedded broker.
func rig(t *testing.T) (brokers []string, topics testkit.TopicSet, cl *kgo.Client) {
	kafka := testkit.FakeKafka(t)
	topics = testkit.Topics(t, kafka.ListenAddrs(), nParts, 1)
	return kafka.ListenAddrs(), topics, testkit.Client(t, kafka.ListenAddrs(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
}

var errPlanted = errors.New("planted")

// Members start, fail within a transaction, panic, stop and hand partitions to each other. Each
// record takes effect once, and the tables end as if one member had written them in order.
func membersComeAndGo(t *testing.T, s *server) {
	brokers, topics, cl := rig(t)
	dsn := s.database(t, "")
	h := newHistory(t)
	produce(t, cl, topics, nParts, h.grow(800)...)
	calls := &atomic.Int64{}
	fragile := func(c *Config) {
		c.SessionTimeout, c.Flush.Rows = 6*time.Second, 100
		c.planted = func(where string) error {
			switch n := calls.Add(1); {
			case where != "poll" && n%7 == 0:
				return errPlanted
			case where == "commit" && n%31 == 0:
				panic("planted")
			}
			return nil
		}
	}
	var running []*member
	for range 6 {
		running = append(running, start(t, brokers, topics, dsn, fragile))
		produce(t, cl, topics, nParts, h.grow(200)...)
		if len(running) > 2 || h.rng.IntN(3) == 0 {
			running[0].stop()
			running = running[1:]
		}
	}
	holds(t, dsn, h.want(t, s))
	for _, m := range running {
		m.stop()
	}
}

// If the schema is dropped while the sink runs, the sink creates and fills it again without a
// restart.
func wipedDatabase(t *testing.T, s *server) {
	brokers, topics, cl := rig(t)
	dsn := s.database(t, "")
	h := newHistory(t)
	produce(t, cl, topics, nParts, h.grow(500)...)
	m := start(t, brokers, topics, dsn)
	m.ready(t)
	want := h.want(t, s)
	holds(t, dsn, want)
	for range 2 {
		testkit.SQL(t, dsn, "DROP SCHEMA tidemark CASCADE")
		holds(t, dsn, want)
		m.ready(t)
	}
}

// Without the identity row the sink reads everything again. That changes nothing, not even the time
// of a change, but restores a row that was removed by hand.
func readAgain(t *testing.T, s *server) {
	brokers, topics, cl := rig(t)
	dsn := s.database(t, "")
	h := newHistory(t)
	produce(t, cl, topics, nParts, h.grow(500)...)
	m := start(t, brokers, topics, dsn)
	m.ready(t)
	before := dump(t, dsn, true)
	for _, statement := range []string{"DELETE FROM tidemark.identity", "DELETE FROM tidemark.identity; DELETE FROM tidemark.read_pointers; DELETE FROM tidemark.channels"} {
		testkit.SQL(t, dsn, statement)
		testkit.Await(t, "the database is complete again", func() bool {
			list, err := query(t, dsn, "SELECT 'complete' FROM tidemark.identity WHERE complete_at IS NOT NULL")
			return err == nil && len(list) == 1
		})
		if after := dump(t, dsn, true); after != before {
			t.Fatalf("reading again changes (- after, + before)\n%s", difference(after, before))
		}
	}
}

// Ready names a database that does not answer, without its password. The sink continues once the
// database answers.
func databaseOff(t *testing.T, s *server) {
	brokers, topics, cl := rig(t)
	dsn := s.database(t, "")
	h := newHistory(t)
	produce(t, cl, topics, nParts, h.grow(300)...)
	line := proxy.NewLine(t)
	m := start(t, brokers, topics, strings.Replace(dsn, "tidemark@", "tidemark:hunter2@", 1), func(c *Config) {
		c.Database.conf.DialFunc = line.Dialer(nil)
	})
	m.ready(t)
	line.Cut()
	produce(t, cl, topics, nParts, h.grow(300)...)
	testkit.Await(t, "the trouble is told", func() bool {
		ok, lines := m.Ready()
		if text := strings.Join(lines, "\n"); strings.Contains(text, "hunter2") {
			t.Fatalf("the password is in %q", text)
		}
		return !ok && len(lines) == 1 && strings.HasPrefix(lines[0], "sql: ") && strings.Contains(lines[0], "no PostgreSQL answers at 127.0.0.1:")
	})
	line.Mend()
	m.ready(t)
	holds(t, dsn, h.want(t, s))
}

// A writer whose partition another member has taken changes nothing.
func lateWriter(t *testing.T, s *server) {
	dsn := s.database(t, "")
	w := Begin(t, dsn)
	h := newHistory(t)
	p := partition{Topic: "t", Number: 0}
	begin := func(token string) { w.do(t, w.begin(token, p)) }
	begin("first")
	begin("second")
	var b batch
	b.reset()
	for _, r := range h.grow(100) {
		if r.Topic == "tidemark.unread" {
			b.addUnread(r, w.part)
		}
	}
	before := dump(t, dsn, true)
	if err := w.db.once(t.Context(), w.write(&b, step{p, "first", 0, 10})); !errors.Is(err, errReopen) {
		t.Errorf("the late writer gets %v", err)
	}
	if after := dump(t, dsn, true); after != before {
		t.Errorf("the late writer wrote\n%s", after)
	}
	if err := w.db.once(t.Context(), w.write(&b, step{p, "second", 0, 10})); err != nil {
		t.Error(err)
	}
}

// After an older backup of the database is restored, the sink continues from its positions.
func olderBackup(t *testing.T, s *server) {
	brokers, topics, cl := rig(t)
	const backup = "backup"
	dsn := s.database(t, "")
	h := newHistory(t)
	produce(t, cl, topics, nParts, h.grow(300)...)
	m := start(t, brokers, topics, dsn)
	m.ready(t)
	m.stop()
	s.n++
	testkit.SQL(t, s.dsn, "CREATE DATABASE "+backup+" TEMPLATE "+dsn[strings.LastIndex(dsn, "/")+1:])
	produce(t, cl, topics, nParts, h.grow(300)...)
	m = start(t, brokers, topics, dsn)
	holds(t, dsn, h.want(t, s))
	m.stop()
	old := strings.TrimSuffix(s.dsn, "postgres") + backup
	m = start(t, brokers, topics, old)
	m.ready(t)
	holds(t, old, h.want(t, s))
}

// Rows from other topics are removed, because their stamps cannot be compared.
func otherTopics(t *testing.T, s *server) {
	brokers, topics, cl := rig(t)
	dsn := s.database(t, "")
	produce(t, cl, topics, nParts, newHistory(t).grow(300)...)
	m := start(t, brokers, topics, dsn)
	m.ready(t)
	m.stop()
	brokers, topics, cl = rig(t)
	h := newHistory(t)
	produce(t, cl, topics, nParts, h.grow(30)...)
	m = start(t, brokers, topics, dsn)
	m.ready(t)
	holds(t, dsn, h.want(t, s))
}

// Verify finds no difference in the rows of a sink, however far behind it is, and finds each row
// that was changed, removed or added by hand.
func verified(t *testing.T, s *server) {
	brokers, topics, cl := rig(t)
	dsn := s.database(t, "")
	h := newHistory(t)
	produce(t, cl, topics, nParts, h.grow(500)...)
	m := start(t, brokers, topics, dsn)
	m.ready(t)
	holds(t, dsn, h.want(t, s))
	m.stop()
	produce(t, cl, topics, nParts, h.grow(100)...)
	check := func() *Verified {
		t.Helper()
		v, err := Verify(t.Context(), m.cfg, 10)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := check(); v.Differences > 0 || v.Rows < 50 {
		t.Fatalf("%+v", v)
	}
	m = start(t, brokers, topics, dsn)
	holds(t, dsn, h.want(t, s))
	m.stop()
	if v := check(); v.Differences > 0 || v.Late > 0 {
		t.Fatalf("%+v", v)
	}
	testkit.SQL(t, dsn, `UPDATE tidemark.unread SET mentions = 77 WHERE ctid = (SELECT ctid FROM tidemark.unread LIMIT 1);
		DELETE FROM tidemark.channels WHERE ctid = (SELECT ctid FROM tidemark.channels LIMIT 1);
		UPDATE tidemark.receipts SET read_at = read_at + interval '1 hour' WHERE ctid = (SELECT ctid FROM tidemark.receipts WHERE read_at IS NOT NULL LIMIT 1);
		INSERT INTO tidemark.read_pointers VALUES ('stray', 'c', '', 'm', 1, now(), 1, 1, 1, 1)`)
	if v := check(); v.Differences != 4 || len(v.First) != 4 {
		t.Errorf("%+v", v)
	}
	testkit.SQL(t, dsn, "DROP SCHEMA tidemark CASCADE")
	if _, err := Verify(t.Context(), m.cfg, 10); err == nil || !strings.Contains(err.Error(), "has no schema tidemark") {
		t.Errorf("without a schema: %v", err)
	}
}

// New and Run refuse wrong settings with a remedy, and never print the password.
func refusals(t *testing.T, s *server) {
	brokers, topics, _ := rig(t)
	newer := s.database(t, "")
	Begin(t, newer)
	testkit.SQL(t, newer, "UPDATE tidemark.identity SET version = 99")
	poor := s.database(t, "")
	testkit.SQL(t, poor, "CREATE ROLE poor LOGIN")
	for _, c := range []struct{ name, dsn, want string }{
		{"newer", newer, "the schema tidemark has version 99, but this build knows versions up to 2"},
		{"encoding", s.database(t, "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"), "has the encoding LATIN1"},
		{"rights", strings.Replace(poor, "tidemark@", "poor:hunter2@", 1), "GRANT CREATE, TEMPORARY ON DATABASE"},
		{"nobody", "postgres://tidemark:hunter2@127.0.0.1:1/x", "no PostgreSQL answers at 127.0.0.1:1/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := start(t, brokers, topics, c.dsn, func(f *Config) { f.Group += c.name })
			var message string
			testkit.Await(t, c.want, func() bool {
				ok, lines := m.Ready()
				message = strings.Join(lines, "\n")
				return !ok && strings.Contains(message, c.want)
			})
			if strings.Contains(message, "hunter2") || strings.Contains(message, "\n") {
				t.Errorf("said is %q", message)
			}
		})
	}
}
