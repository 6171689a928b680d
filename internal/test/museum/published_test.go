package museum

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// published collects the deltas of tidemark.unread by user, channel and thread.
type published struct {
	mu  sync.Mutex
	of  map[string]*events.UnreadDelta // newest, by key
	num map[string]int                 // number of deltas, by key
}

func newPublished() *published {
	return &published{of: map[string]*events.UnreadDelta{}, num: map[string]int{}}
}

// listen follows a topic until the test ends.
func listen(t *testing.T, brokers []string, topic string, take func(*testing.T, *kgo.Record)) {
	cl := testkit.Client(t, brokers, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { take(t, r) })
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func (f *published) take(t *testing.T, r *kgo.Record) {
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(r.Value, &d); err != nil {
		t.Errorf("%s/%d/%d: %v", r.Topic, r.Partition, r.Offset, err)
		return
	}
	d.InstanceID = nil // only a hint: joined deltas may lose it
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[string(r.Key)] = &d
	f.num[string(r.Key)]++
}

// about returns the newest delta of a key and the number of its deltas.
func (f *published) about(key string) (*events.UnreadDelta, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[key], f.num[key]
}

// shown has the newest receipts in tidemark.receipts of each member of each small channel.
type shown struct {
	mu sync.Mutex
	of map[string]*receipts // by channel
}

// receipts are the newest receipts of a channel.
type receipts struct {
	read, delivered map[string]events.Receipt // by user
	records         int
}

func newShown() *shown { return &shown{of: map[string]*receipts{}} }

func (s *shown) take(t *testing.T, r *kgo.Record) {
	var rec events.ReceiptsRecord
	if err := events.DecodeReceiptsRecord(r.Value, &rec); err != nil {
		t.Errorf("%s/%d/%d: %v", r.Topic, r.Partition, r.Offset, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[string(r.Key)]
	if of == nil {
		of = &receipts{read: map[string]events.Receipt{}, delivered: map[string]events.Receipt{}}
		s.of[string(r.Key)] = of
	}
	of.records++
	for _, x := range rec.Readers {
		of.read[string(x.UserID)] = x
	}
	for _, x := range rec.Delivered {
		of.delivered[string(x.UserID)] = x
	}
}

// about returns the receipts of a channel since they were last removed. It removes them unless keep
// is true.
func (s *shown) about(channel string, keep bool) receipts {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[channel]
	if of == nil {
		return receipts{}
	}
	out := receipts{maps.Clone(of.read), maps.Clone(of.delivered), of.records}
	if !keep {
		clear(of.read)
		clear(of.delivered)
	}
	return out
}
