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

// TestRebuildWhereFetchesFail: a rebuild's own fetches get answers that they cannot handle, at the
// first fetch and in the middle. The client's consumer takes over, and the state is the same.
func TestRebuildWhereFetchesFail(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	k := testkit.FakeKafka(t, kfake.NumBrokers(3))
	const n = 3
	s := newSite(t, k.ListenAddrs(), n)
	tr := newTraffic(s, seed, 20)
	for range 20 { // makes at least as many batches
		tr.run(100)
	}
	want, _ := s.replay()

	type answerer func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error)
	var fetches, refused atomic.Int64
	var answer atomic.Pointer[answerer]
	k.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		f, ok := askedByReader(req)
		if !ok {
			return nil, nil, false
		}
		resp, err := (*answer.Load())(f, fetches.Add(1))
		if resp == nil && err == nil {
			return nil, nil, false
		}
		refused.Add(1)
		return resp, err, true
	})
	rebuilt := func(what string, by answerer) {
		t.Helper()
		fetches.Store(0)
		refused.Store(0)
		answer.Store(&by)
		dir := t.TempDir()
		for _, r := range s.rebuild(dir, func(c *RebuildConfig) { setup.HooksOf(&c.Config).FetchBytes = 1000 }) {
			if r.Err != nil || r.Digest != want[r.Partition] {
				t.Errorf("%s: partition %d: %+v, want digest %x", what, r.Partition, r, want[r.Partition])
			}
		}
	}

	rebuilt("nothing fails", func(*kmsg.FetchRequest, int64) (kmsg.Response, error) { return nil, nil })
	all := fetches.Load()
	if all < 30 {
		t.Fatalf("%d fetches are too few for what follows", all)
	}
	for _, err := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownTopicID, kerr.OffsetOutOfRange, kerr.FencedLeaderEpoch, kerr.UnknownServerError} {
		for _, from := range []int64{1, all / 3} {
			rebuilt(err.Message, func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
				if nth < from {
					return nil, nil
				}
				return refuseFetch(f, err), nil
			})
			if refused.Load() == 0 || from > 1 && fetches.Load() <= refused.Load() {
				t.Errorf("%s: %d of %d fetches were refused, from the %dth on", err.Message, refused.Load(), fetches.Load(), from)
			}
		}
	}
	rebuilt("another answer", func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
		if nth < 5 {
			return nil, nil
		}
		return f.ResponseKind(), nil // without a partition
	})
	rebuilt("garbage", func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
		if nth < 5 {
			return nil, nil
		}
		resp := refuseFetch(f, &kerr.Error{})
		resp.Topics[0].Partitions[0].RecordBatches = make([]byte, 100)
		return resp, nil
	})
	rebuilt("a part of a batch", func(f *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
		if nth < 5 {
			return nil, nil
		}
		resp := refuseFetch(f, &kerr.Error{})
		whole, _ := recordbatch.Random(t, rand.New(rand.NewPCG(1, 1)), kgo.Lz4Compression(), 1)
		resp.Topics[0].Partitions[0].RecordBatches = whole[0][:70]
		return resp, nil
	})
	rebuilt("connections break", func(_ *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
		if nth%5 != 0 {
			return nil, nil
		}
		return nil, errors.New("the connection is closed")
	})
	var moved atomic.Int32
	var moves sync.WaitGroup
	rebuilt("leaders move", func(_ *kmsg.FetchRequest, nth int64) (kmsg.Response, error) {
		if nth%10 == 0 {
			by := moved.Add(1)
			moves.Go(func() {
				for p := range int32(n) {
					if err := k.MoveTopicPartition(s.names().Inputs[events.Reads], p, (by+p)%3); err != nil {
						t.Error(err)
					}
				}
			})
		}
		return nil, nil
	})
	moves.Wait()
	if moved.Load() == 0 {
		t.Error("no leader has moved")
	}
}
