package processor

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
)

// catchesUp makes members fetch inputs that are few records behind without the client's consumer,
// in many small fetches. The consumer fetches small pieces too, so that much is left for them.
func (s *site) catchesUp(c Config) Config {
	h := setup.HooksOf(&c)
	h.Behind, h.FetchBytes = 20, 1000
	c.ClientOptions = append(c.ClientOptions, kgo.FetchMaxPartitionBytes(1000))
	return c
}

// TestANodeThatIsBehindFetchesBatches: a node with a backlog fetches it with requests of its own,
// and what comes after it with the client's consumer. Its state and outputs are those of a replay.
func TestANodeThatIsBehindFetchesBatches(t *testing.T) {
	const n = 3
	b := newBacklog(t, n)
	dir := t.TempDir()
	m := b.start(b.catchesUp(b.config(dir))).ready(n)
	b.caughtUp(m)
	if b.fetches.Load() < 30 {
		t.Errorf("%d own fetches are too few for the backlog", b.fetches.Load())
	}
	until(t, "the consumer fetches everything again", func() bool {
		before := b.fetches.Load()
		b.run(10)
		b.caughtUp(m)
		return b.fetches.Load() == before
	})
	own, sessions := b.fetches.Load(), b.sessions.Load()
	for range 20 {
		b.run(10)
		b.caughtUp(m)
	}
	if now := b.fetches.Load(); now != own || b.sessions.Load() == sessions {
		t.Errorf("%d own fetches and %d of the consumer for records that are not far behind", now-own, b.sessions.Load()-sessions)
	}
	m.stop()
	b.matchesReplay(1, dir)
}

// TestCatchingUpWhereFetchesFail: the own fetches of a node get answers that they cannot handle.
// The client's consumer goes on, and the state is that of a replay.
func TestCatchingUpWhereFetchesFail(t *testing.T) {
	for _, bad := range badAnswers(t) {
		t.Run(bad.what, func(t *testing.T) {
			t.Parallel()
			const n = 3
			b := newBacklog(t, n)
			b.set(bad)
			dir := t.TempDir()
			m := b.start(b.catchesUp(b.config(dir))).ready(n)
			b.caughtUp(m)
			m.stop()
			b.checkAnswers()
			b.matchesReplay(1, dir)
		})
	}
}

// TestDeadLettersWhileCatchingUp: bad records of a compressed log reach the dead letters byte by byte,
// although the memory in which they were decoded is used again before they are published.
func TestDeadLettersWhileCatchingUp(t *testing.T) {
	b := newBacklog(t, 1)
	bad := map[string]*kgo.Record{} // by offset
	for i := range 60 {
		b.run(50)
		r := b.raw(events.Reads, 0, fmt.Appendf(nil, "key-%d", i), bytes.Repeat(fmt.Appendf(nil, "bad-%d ", i), 20))
		bad[strconv.FormatInt(r.Offset, 10)] = r
	}
	m := b.start(b.catchesUp(b.config(t.TempDir()))).ready(1)
	b.caughtUp(m)
	if caughtUp(t, m) == 0 {
		t.Error("nothing was fetched without the client's consumer")
	}
	m.stop()
	letters := b.records(b.names().DeadLetters)
	if len(letters) < len(bad) {
		t.Errorf("%d dead letters, want %d", len(letters), len(bad))
	}
	for _, l := range letters {
		if r := bad[header(l, "offset")]; r != nil && header(l, "topic") == r.Topic && (!bytes.Equal(l.Key, r.Key) || !bytes.Equal(l.Value, r.Value)) {
			t.Errorf("the dead letter of %s/0/%d has %q: %q instead of %q: %q", r.Topic, r.Offset, l.Key, l.Value, r.Key, r.Value)
		}
	}
}

// TestRebalanceWhileCatchingUp: partitions move between members that are far behind, and new events
// come in meanwhile.
func TestRebalanceWhileCatchingUp(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		const n = 6
		s := newSite(t, env.Brokers, n)
		tr := newTraffic(s, seed, 40)
		for range 30 {
			tr.run(200)
		}
		dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
		begin := func(i int) *member {
			c := s.catchesUp(s.config(dirs[i]))
			setup.HooksOf(&c).LockRecords = 4 // slow, so that partitions move before they have caught up
			return s.start(c)
		}
		a := begin(0)
		tr.run(500)
		b := begin(1)
		a.ready(n / 2)
		b.ready(n / 2)
		tr.run(1000)
		c := begin(2)
		for _, m := range []*member{a, b, c} {
			m.ready(n / 3)
		}
		tr.run(1000)
		a.stop()
		tr.run(500)
		b.ready(n / 2)
		c.ready(n / 2)
		s.caughtUp(b, c)
		for i, m := range []*member{a, b, c} {
			if caughtUp(t, m) == 0 {
				t.Errorf("member %d has fetched nothing without the client's consumer", i)
			}
		}
		b.stop()
		c.stop()
		s.matchesReplay(1, dirs...)
	})
}

// TestTransactionsWhileCatchingUp: a log has transactions, some of them aborted. Only the client's
// consumer can leave out what was aborted.
func TestTransactionsWhileCatchingUp(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 3))
		s := newSite(t, env.Brokers, 1)
		tr := newTraffic(s, seed, 10)
		for range 20 {
			tr.run(50)
		}
		plain := s.client
		for range 6 {
			s.client = testkit.Client(t, s.brokers, kgo.TransactionalID(testkit.UniqueName(t, "tx")), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err := s.client.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			tr.run(30)
			if err := s.client.EndTransaction(t.Context(), kgo.TransactionEndTry(r.IntN(2) == 0)); err != nil {
				t.Fatal(err)
			}
			s.client = plain
			tr.run(100)
		}
		dir := t.TempDir()
		m := s.start(s.catchesUp(s.config(dir))).ready(1)
		s.caughtUp(m)
		if caughtUp(t, m) == 0 {
			t.Error("nothing was fetched without the client's consumer")
		}
		m.stop()
		s.matchesReplay(1, dir)
	})
}

// caughtUp returns how many bytes a member has fetched without the client's consumer.
func caughtUp(t *testing.T, m *member) float64 {
	t.Helper()
	var bytes dto.Metric
	if err := m.metrics.CaughtUp.Write(&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes.Counter.GetValue()
}

// TestALossIsNoticedWhileCatchingUp: another broker becomes the leader that does not have what was
// fetched. The partition fails instead of folding what comes at these offsets then.
func TestALossIsNoticedWhileCatchingUp(t *testing.T) {
	for what, first := range map[string]int64{"at the first fetch": 1, "later": 6} {
		t.Run(what, func(t *testing.T) { lossIsNoticed(t, first) })
	}
}

// lossIsNoticed refuses the own fetches of a node from the first one on.
func lossIsNoticed(t *testing.T, first int64) {
	b := newBacklog(t, 1)
	b.set(badAnswer{by: func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
		if nth < first {
			return nil, nil
		}
		return refuseFetch(f, kerr.FencedLeaderEpoch), nil
	}})
	b.k.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.k.KeepControl()
		req := kreq.(*kmsg.OffsetForLeaderEpochRequest)
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		for _, topic := range req.Topics {
			of := kmsg.NewOffsetForLeaderEpochResponseTopic()
			of.Topic = topic.Topic
			for _, p := range topic.Partitions {
				one := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				one.Partition, one.LeaderEpoch, one.EndOffset = p.Partition, p.LeaderEpoch, 3
				of.Partitions = append(of.Partitions, one)
			}
			resp.Topics = append(resp.Topics, of)
		}
		return resp, nil, true
	})
	m := b.start(b.catchesUp(b.config(t.TempDir())))
	until(t, "the partition fails", func() bool {
		st := m.Status()
		return len(st) == 1 && st[0].Err != nil && strings.Contains(st[0].Err.Error(), "the log has lost records that were folded")
	})
}
