package processor

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/recordbatch"
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
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	k := testkit.FakeKafka(t, kfake.NumBrokers(3))
	const n = 3
	s := newSite(t, k.ListenAddrs(), n)
	tr := newTraffic(s, seed, 20)
	for range 20 { // makes at least as many batches
		tr.run(100)
	}
	var own, sessions atomic.Int64
	k.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if _, ok := askedByReader(req); ok {
			own.Add(1)
		} else {
			sessions.Add(1)
		}
		return nil, nil, false
	})
	dir := t.TempDir()
	m := s.start(s.catchesUp(s.config(dir))).ready(n)
	s.caughtUp(m)
	if own.Load() < 30 {
		t.Errorf("%d own fetches are too few for the backlog", own.Load())
	}
	until(t, "the consumer fetches everything again", func() bool {
		before := own.Load()
		tr.run(10)
		s.caughtUp(m)
		return own.Load() == before
	})
	behind, before := own.Load(), sessions.Load()
	for range 20 {
		tr.run(10)
		s.caughtUp(m)
	}
	if now := own.Load(); now != behind || sessions.Load() == before {
		t.Errorf("%d own fetches and %d of the consumer for records that are not far behind", now-behind, sessions.Load()-before)
	}
	m.stop()
	s.sameAsReplay(s.config(dir), dir)
}

// sameAsReplay compares stores and outputs with those of a single member that folds the topics from
// their start with the client's consumer.
func (s *site) sameAsReplay(c Config, dirs ...string) {
	s.t.Helper()
	got, published := s.digests(c, dirs...), s.outputs()
	want, replayed := s.replay()
	for p := range want {
		if got[p] != want[p] {
			s.t.Errorf("partition %d has digest %x, a replay %x", p, got[p], want[p])
		}
	}
	sameNewest(s.t, "published", published, replayed)
}

// TestCatchingUpWhereFetchesFail: the own fetches of a node get answers that they cannot handle.
// The client's consumer goes on, and the state is that of a replay.
func TestCatchingUpWhereFetchesFail(t *testing.T) {
	for _, bad := range badAnswers(t) {
		t.Run(bad.what, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			k := testkit.FakeKafka(t, kfake.NumBrokers(3))
			const n = 3
			s := newSite(t, k.ListenAddrs(), n)
			tr := newTraffic(s, seed, 20)
			for range 20 {
				tr.run(100)
			}
			var fetches, answered atomic.Int64
			var moved atomic.Int32
			var moves sync.WaitGroup
			k.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
				k.KeepControl()
				f, ok := askedByReader(req)
				if !ok {
					return nil, nil, false
				}
				nth := fetches.Add(1)
				if bad.moves && nth%10 == 0 {
					answered.Add(1)
					by := moved.Add(1)
					moves.Go(func() {
						for p := range int32(n) {
							if err := k.MoveTopicPartition(s.names().Inputs[events.Reads], p, (by+p)%3); err != nil {
								t.Error(err)
							}
						}
					})
				}
				resp, err := bad.by(f, nth)
				if resp == nil && err == nil {
					return nil, nil, false
				}
				answered.Add(1)
				return resp, err, true
			})
			dir := t.TempDir()
			m := s.start(s.catchesUp(s.config(dir))).ready(n)
			s.caughtUp(m)
			moves.Wait()
			m.stop()
			if answered.Load() == 0 {
				t.Errorf("none of %d fetches failed", fetches.Load())
			}
			s.sameAsReplay(s.config(dir), dir)
		})
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
		s.sameAsReplay(s.config(""), dirs...)
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
		s.sameAsReplay(s.config(dir), dir)
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
	k := testkit.FakeKafka(t, kfake.NumBrokers(3))
	s := newSite(t, k.ListenAddrs(), 1)
	tr := newTraffic(s, rand.Uint64(), 20)
	for range 20 {
		tr.run(100)
	}
	var fetches atomic.Int64
	k.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if f, ok := askedByReader(req); ok && fetches.Add(1) >= first {
			return refuseFetch(f, kerr.FencedLeaderEpoch), nil, true
		}
		return nil, nil, false
	})
	k.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
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
	m := s.start(s.catchesUp(s.config(t.TempDir())))
	until(t, "the partition fails", func() bool {
		st := m.Status()
		return len(st) == 1 && st[0].Err != nil && strings.Contains(st[0].Err.Error(), "the log has lost records that were folded")
	})
}

// badAnswer is an answer to own fetches that the client's consumer has to make up for.
type badAnswer struct {
	what  string
	by    func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error)
	moves bool // leaders move at every tenth fetch
}

func badAnswers(t *testing.T) (all []badAnswer) {
	after := func(first int64, resp func(f *kmsg.FetchRequest) (kmsg.Response, error)) func(*kmsg.FetchRequest, int64) (kmsg.Response, error) {
		return func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
			if nth < first {
				return nil, nil
			}
			return resp(f)
		}
	}
	for _, err := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownTopicID, kerr.OffsetOutOfRange, kerr.FencedLeaderEpoch, kerr.UnknownServerError} {
		for what, first := range map[string]int64{" at once": 1, " later": 15} {
			all = append(all, badAnswer{what: err.Message + what, by: after(first, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
				return refuseFetch(f, err), nil
			})})
		}
	}
	return append(all,
		badAnswer{what: "another answer", by: after(5, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
			return f.ResponseKind(), nil // without a partition
		})},
		badAnswer{what: "throttled", by: func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
			if nth%3 != 0 {
				return nil, nil
			}
			resp := f.ResponseKind().(*kmsg.FetchResponse)
			resp.ThrottleMillis = 5
			return resp, nil
		}},
		badAnswer{what: "no records", by: after(5, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
			resp := refuseFetch(f, &kerr.Error{})
			resp.Topics[0].Partitions[0].HighWatermark, resp.Topics[0].Partitions[0].LastStableOffset = 1<<30, 1<<30
			return resp, nil
		})},
		badAnswer{what: "garbage", by: after(5, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
			resp := refuseFetch(f, &kerr.Error{})
			resp.Topics[0].Partitions[0].RecordBatches = make([]byte, 100)
			return resp, nil
		})},
		badAnswer{what: "a part of a batch", by: after(5, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
			resp := refuseFetch(f, &kerr.Error{})
			whole, _ := recordbatch.Random(t, rand.New(rand.NewPCG(1, 1)), kgo.Lz4Compression(), 1)
			resp.Topics[0].Partitions[0].RecordBatches = whole[0][:70]
			return resp, nil
		})},
		badAnswer{what: "connections break", by: func(_ *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
			if nth%5 != 0 {
				return nil, nil
			}
			return nil, errors.New("the connection is closed")
		}},
		badAnswer{what: "leaders move", by: func(*kmsg.FetchRequest, int64) (kmsg.Response, error) { return nil, nil }, moves: true},
	)
}
