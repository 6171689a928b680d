package processor

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/recordbatch"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
)

// askedByReader reports whether a request is a reader's fetch. The client's consumer fetches in
// sessions, and sends a fetch without a session only to end one.
func askedByReader(req kmsg.Request) (*kmsg.FetchRequest, bool) {
	f, ok := req.(*kmsg.FetchRequest)
	return f, ok && f.SessionEpoch == -1 && len(f.Topics) == 1
}

// refuseFetch answers a fetch of one partition with an error.
func refuseFetch(f *kmsg.FetchRequest, err *kerr.Error) *kmsg.FetchResponse {
	resp := f.ResponseKind().(*kmsg.FetchResponse)
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID = f.Topics[0].Topic, f.Topics[0].TopicID
	part := kmsg.NewFetchResponseTopicPartition()
	part.Partition, part.ErrorCode = f.Topics[0].Partitions[0].Partition, err.Code
	topic.Partitions = append(topic.Partitions, part)
	resp.Topics = append(resp.Topics, topic)
	return resp
}

// badAnswer is an answer to own fetches that the client's consumer has to make up for.
type badAnswer struct {
	what  string
	first bool                                                         // from the first fetch on
	by    func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) // nil: the broker answers
	moves bool                                                         // leaders move at every tenth fetch
	live  bool                                                         // a rebuild asks again
}

// badAnswers returns bad answers of each kind, from the first fetch on or later.
func badAnswers(t *testing.T) (all []badAnswer) {
	from := func(first int64, resp func(f *kmsg.FetchRequest) (kmsg.Response, error)) func(*kmsg.FetchRequest, int64) (kmsg.Response, error) {
		return func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
			if nth < first {
				return nil, nil
			}
			return resp(f)
		}
	}
	with := func(f *kmsg.FetchRequest, change func(*kmsg.FetchResponseTopicPartition)) (kmsg.Response, error) {
		resp := refuseFetch(f, &kerr.Error{})
		change(&resp.Topics[0].Partitions[0])
		return resp, nil
	}
	for _, err := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownTopicID, kerr.OffsetOutOfRange, kerr.FencedLeaderEpoch, kerr.UnknownServerError} {
		for what, first := range map[string]int64{" at once": 1, " later": 15} {
			all = append(all, badAnswer{what: err.Message + what, first: first == 1, by: from(first, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
				return refuseFetch(f, err), nil
			})})
		}
	}
	return append(all,
		badAnswer{what: "another answer", by: from(5, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
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
		badAnswer{what: "no records", live: true, by: from(5, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
			return with(f, func(p *kmsg.FetchResponseTopicPartition) { p.HighWatermark, p.LastStableOffset = 1<<30, 1<<30 })
		})},
		badAnswer{what: "garbage", by: from(5, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
			return with(f, func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = make([]byte, 100) })
		})},
		badAnswer{what: "a part of a batch", by: from(5, func(f *kmsg.FetchRequest) (kmsg.Response, error) {
			whole, _ := recordbatch.Random(t, rand.New(rand.NewPCG(1, 1)), kgo.Lz4Compression(), 1)
			return with(f, func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = whole[0][:70] })
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

// backlog is a site with events that nobody has folded, and brokers that answer own fetches badly.
type backlog struct {
	*site
	*traffic
	k        *kfake.Cluster
	bad      atomic.Pointer[badAnswer]
	fetches  atomic.Int64 // own ones since the last set
	answered atomic.Int64 // those that were answered badly
	sessions atomic.Int64 // fetches of the client's consumer
	moving   sync.WaitGroup
}

func newBacklog(t *testing.T, partitions int32) *backlog {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	b := &backlog{k: testkit.FakeKafka(t, kfake.NumBrokers(3))}
	b.site = newSite(t, b.k.ListenAddrs(), partitions)
	b.traffic = newTraffic(b.site, seed, 20)
	for range 20 { // makes at least as many batches
		b.run(100)
	}
	b.set(badAnswer{by: func(*kmsg.FetchRequest, int64) (kmsg.Response, error) { return nil, nil }})
	b.k.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.k.KeepControl()
		f, ok := askedByReader(req)
		if !ok {
			b.sessions.Add(1)
			return nil, nil, false
		}
		bad, nth := b.bad.Load(), b.fetches.Add(1)
		if bad.moves && nth%10 == 0 {
			b.moveLeaders(int32(nth / 10))
		}
		resp, err := bad.by(f, nth)
		if resp == nil && err == nil {
			return nil, nil, false
		}
		b.answered.Add(1)
		return resp, err, true
	})
	return b
}

func (b *backlog) set(bad badAnswer) {
	b.fetches.Store(0)
	b.answered.Store(0)
	b.bad.Store(&bad)
}

// checkAnswers fails the test unless fetches were answered badly, and others well, as was set.
func (b *backlog) checkAnswers() {
	b.t.Helper()
	b.moving.Wait()
	bad, fetches, answered := b.bad.Load(), b.fetches.Load(), b.answered.Load()
	if answered == 0 || !bad.first && fetches <= answered {
		b.t.Errorf("%s: %d of %d fetches were answered badly", bad.what, answered, fetches)
	}
}

func (b *backlog) moveLeaders(by int32) {
	b.answered.Add(1)
	b.moving.Go(func() {
		for p := range b.partitions {
			if err := b.k.MoveTopicPartition(b.names().Inputs[events.Reads], p, (by+p)%3); err != nil {
				b.t.Error(err)
			}
		}
	})
}

// TestRebuildWhereFetchesFail: a rebuild's own fetches get answers that they cannot handle, at the
// first fetch and in the middle. The client's consumer takes over, and the state is the same.
func TestRebuildWhereFetchesFail(t *testing.T) {
	b := newBacklog(t, 3)
	want, _ := b.replay()
	rebuilt := func(what string) {
		t.Helper()
		for _, r := range b.rebuild(t.TempDir(), func(c *RebuildConfig) { setup.HooksOf(&c.Config).FetchBytes = 1000 }) {
			if r.Err != nil || r.Digest != want[r.Partition] {
				t.Errorf("%s: partition %d: %+v, want digest %x", what, r.Partition, r, want[r.Partition])
			}
		}
	}
	rebuilt("nothing fails")
	if all := b.fetches.Load(); all < 30 {
		t.Fatalf("%d fetches are too few for what follows", all)
	}
	for _, bad := range badAnswers(t) {
		if bad.live {
			continue
		}
		b.set(bad)
		rebuilt(bad.what)
		b.checkAnswers()
	}
}
