package outputs

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// TestGivingUpIsNoRefusal: records in flight when their partition is taken away are not counted as
// refused; a record that brokers will never accept is counted once.
func TestGivingUpIsNoRefusal(t *testing.T) {
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"topic"})
	record := &kgo.Record{Topic: events.TopicUnread}
	value := func(c prometheus.Counter) float64 {
		var m dto.Metric
		if err := c.Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetCounter().GetValue()
	}
	outcome := func(ctx context.Context, err error) {
		ended := make(chan error, 1)
		s := &set{p: &Publisher{Counts: Counts{Refused: refusals}}, ctx: ctx, done: func(err error) { ended <- err }}
		s.left.Store(2)
		s.promise(record, err)
		s.promise(record, err)
		if err := <-ended; err == nil {
			t.Error("the set is taken to be published")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	outcome(ctx, context.Canceled)
	refused := refusals.WithLabelValues(events.TopicUnread)
	if n := value(refused); n != 0 {
		t.Errorf("%v refusals of a partition that was taken away", n)
	}
	outcome(t.Context(), kerr.TopicAuthorizationFailed)
	if n := value(refused); n != 1 {
		t.Errorf("%v refusals of records that are not allowed, want 1", n)
	}
}
