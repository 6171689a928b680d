package museum

import (
	"context"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/testkit"
)

// told is what tidemark.unread tells about each user in each channel and thread: what is pushed to clients.
type told struct {
	mu  sync.Mutex
	of  map[string]*events.UnreadDelta // by key: the newest
	num map[string]int                 // by key: how many
}

// listen follows the topic until the test ends.
func listen(t *testing.T, brokers []string, topic string) *told {
	f := &told{of: map[string]*events.UnreadDelta{}, num: map[string]int{}}
	cl := testkit.Client(t, brokers, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { f.take(t, r) })
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

func (f *told) take(t *testing.T, r *kgo.Record) {
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(r.Value, &d); err != nil {
		t.Errorf("%s/%d/%d: %v", r.Topic, r.Partition, r.Offset, err)
		return
	}
	d.InstanceID = nil // a hint, which joined deltas may lose
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[string(r.Key)] = &d
	f.num[string(r.Key)]++
}

// about is the newest that was told about a key, and how often anything was.
func (f *told) about(key string) (*events.UnreadDelta, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[key], f.num[key]
}
