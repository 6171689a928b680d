package sqlsink

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// server is a PostgreSQL with a database for each test.
type server struct {
	dsn string
	n   int
}

// database creates a database and returns its address.
func (s *server) database(t testing.TB, options string) string {
	t.Helper()
	s.n++
	name := "d" + strconv.Itoa(s.n)
	testkit.SQL(t, s.dsn, "CREATE DATABASE "+name+" "+options)
	return strings.TrimSuffix(s.dsn, "postgres") + name
}

// query returns the rows of a query as text.
func query(t testing.TB, dsn, sql string) (lines []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// dump returns the rows of the tables; times decides whether it includes the times of changes.
func dump(t testing.TB, dsn string, times bool) string {
	t.Helper()
	var out strings.Builder
	for _, table := range []string{"unread", "read_pointers", "channels", "receipts"} {
		row := "to_jsonb(t)"
		if !times {
			row += " - 'updated_at'"
		}
		if !times && table == "read_pointers" { // its stamp depends on the batches
			row += " - 'm' - 'r' - 'd'"
		}
		lines, err := query(t, dsn, "SELECT ("+row+")::text FROM tidemark."+table+" t ORDER BY 1")
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&out, "%s\n%s\n", table, strings.Join(lines, "\n"))
	}
	return out.String()
}

// history is a possible output of a fold: values of each key with growing stamps, in the order of
// the topic.
type history struct {
	rng     *rand.Rand
	records []*kgo.Record
	last    map[string]events.UnreadDelta
	dead    map[string]bool
	m, r    int64
}

func newHistory(t testing.TB) *history {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return &history{rng: rand.New(rand.NewPCG(seed, 0)), last: map[string]events.UnreadDelta{}, dead: map[string]bool{}}
}

const t0 = 1767323045678

// grow adds n records of few users and channels.
func (h *history) grow(n int) []*kgo.Record {
	from := len(h.records)
	for range n {
		h.m++
		channel := "c" + strconv.Itoa(h.rng.IntN(12))
		if h.dead[channel] {
			continue
		}
		user := "u" + strconv.Itoa(h.rng.IntN(9))
		if h.dead[user+" "+channel] { // the order between the topics does not matter then
			continue
		}
		switch h.rng.IntN(8) {
		case 0:
			c := &events.ChannelRecord{
				ChannelID: []byte(channel), HeadSeq: uint32(h.m), HeadPos: uint32(h.m), MemberCount: 3, Holes: []uint32{3, 4, 5, 9}, Labels: [][]byte{[]byte(`a "b" \ {c},`)},
				Latest: events.Head{MessageID: []byte("m" + strconv.FormatInt(h.m, 10)), Seq: uint32(h.m), At: t0 + h.m, SenderID: []byte("s")},
				Stamp:  events.Stamp{FoldVersion: 1, M: h.m}, Large: h.rng.IntN(2) == 0, Deleted: h.rng.IntN(30) == 0,
			}
			h.dead[channel] = c.Deleted
			h.records = append(h.records, &kgo.Record{Topic: events.TopicChannels, Key: c.ChannelID, Value: events.AppendChannelRecord(nil, c)})
			continue
		case 1:
			rec := &events.ReceiptsRecord{ChannelID: []byte(channel)}
			for range h.rng.IntN(3) {
				rec.Readers = append(rec.Readers, events.Receipt{UserID: []byte(user), MessageID: []byte("m1"), Seq: uint32(h.rng.IntN(5)), At: t0 + h.m})
				rec.Delivered = append(rec.Delivered, events.Receipt{UserID: []byte(user), MessageID: []byte("m1"), Seq: uint32(h.rng.IntN(5)), At: t0 + h.m})
			}
			h.records = append(h.records, &kgo.Record{Topic: events.TopicReceipts, Key: rec.ChannelID, Value: events.AppendReceiptsRecord(nil, rec)})
			continue
		}
		key := string(events.AppendUnreadKey(nil, []byte(user), []byte(channel), nil))
		d, ok := h.last[key]
		if !ok {
			d = events.UnreadDelta{UserID: []byte(user), ChannelID: []byte(channel), Stamp: events.Stamp{FoldVersion: 1}}
		}
		d.Member, d.Unread, d.Stamp.M, d.ReadEpoch = true, uint32(h.m), h.m, 1
		d.FirstUnread = events.Ref{MessageID: []byte("tab\tline\nback\\"), Seq: uint32(h.m)}
		switch h.rng.IntN(5) {
		case 0:
			h.r++
			d.Stamp.R, d.LastRead, d.LastReadAt = h.r, events.Ref{MessageID: []byte("m"), Seq: uint32(h.m)}, t0+h.m
		case 1:
			d.Large, d.Unread, d.FirstUnread, d.ReadPos, d.Excluded, d.Mentioned = true, 0, events.Ref{}, uint32(h.m), []uint32{uint32(h.m) + 1}, []uint32{uint32(h.m) + 2, uint32(h.m) + 3}
		case 2:
			d.Member, d.Unread, d.FirstUnread = false, 0, events.Ref{}
		case 3:
			if h.rng.IntN(20) == 0 { // the user is erased
				h.r++
				h.dead[user+" "+channel] = true
				d = events.UnreadDelta{UserID: []byte(user), ChannelID: []byte(channel), ReadEpoch: 1, Stamp: events.Stamp{FoldVersion: 1, M: h.m, R: h.r}}
			}
		}
		h.last[key] = d
		h.records = append(h.records, &kgo.Record{Topic: events.TopicUnread, Key: []byte(key), Value: events.AppendUnreadDelta(nil, &d)})
	}
	return h.records[from:]
}

// want returns the rows of the tables in another database to which the whole history was written in
// order.
func (h *history) want(t testing.TB, s *server) string {
	t.Helper()
	dsn := s.database(t, "")
	w := Begin(t, dsn)
	for from := 0; from < len(h.records); from += 1000 {
		w.Write(t, h.records[from:min(from+1000, len(h.records))]...)
	}
	return dump(t, dsn, false)
}

// produce writes copies of records to the topics of a test.
func produce(t testing.TB, cl *kgo.Client, topics testkit.TopicSet, partitions int32, records ...*kgo.Record) {
	t.Helper()
	var list []*kgo.Record
	for _, r := range records {
		by := r.Key
		if r.Topic == events.TopicUnread {
			by, _, _, _ = events.SplitUnreadKey(r.Key)
		}
		list = append(list, &kgo.Record{Topic: topics.Name(r.Topic), Partition: events.PartitionOf(by, partitions), Key: r.Key, Value: r.Value})
	}
	if err := cl.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// member is a running Sink.
type member struct {
	*Sink
	stop func() // waits for Run to return; may be called more than once
}

// start runs a Sink with short intervals until the test ends or it is stopped.
func start(t testing.TB, brokers []string, topics testkit.TopicSet, dsn string, change ...func(*Config)) *member {
	t.Helper()
	addr, err := ParseAddress(dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Brokers: brokers, ClientOptions: testkit.FastClientOpts(), Group: topics.Prefix + "sql",
		Unread: topics.Name(events.TopicUnread), Channels: topics.Name(events.TopicChannels), Receipts: topics.Name(events.TopicReceipts),
		Database: addr, Flush: Flush{Every: 20 * time.Millisecond}, CheckEvery: 20 * time.Millisecond, CommitEvery: 20 * time.Millisecond,
		RetryMin: 2 * time.Millisecond, RetryMax: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	m := &member{Sink: s, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the sink ended with %v", err)
			}
		case <-time.After(2 * time.Minute):
			t.Error("the sink does not end")
		}
	}}
	t.Cleanup(m.stop)
	return m
}

// ready waits until the database is complete.
func (m *member) ready(t testing.TB) {
	t.Helper()
	testkit.Await(t, "the database is complete", func() bool { ok, _ := m.Ready(); return ok })
}

// holds waits until the rows of the tables equal want.
func holds(t testing.TB, dsn, want string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		got := dump(t, dsn, false)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the tables have extra (-) or missing (+) rows\n%s", difference(got, want))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// difference returns the first lines that only one of two dumps has.
func difference(got, want string) string {
	var out []string
	has := func(text string) map[string]bool {
		lines := map[string]bool{}
		for line := range strings.Lines(text) {
			lines[line] = true
		}
		return lines
	}
	g, w := has(got), has(want)
	for line := range g {
		if !w[line] {
			out = append(out, "- "+line)
		}
	}
	for line := range w {
		if !g[line] {
			out = append(out, "+ "+line)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return strings.Join(out[:min(10, len(out))], "")
}
