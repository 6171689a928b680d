package outputs

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// TestGivingUpIsNoRefusal: records in flight when their partition is taken away are not counted as
// refused; a record that brokers will never accept is counted once.
func TestGivingUpIsNoRefusal(t *testing.T) {
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"topic"})
	all := Outgoing{Topics: [3]string{projections.OutUnread: events.TopicUnread}, Deltas: make([]projections.OutRecord, 2)}
	value := func(c prometheus.Counter) float64 {
		var m dto.Metric
		if err := c.Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetCounter().GetValue()
	}
	outcome := func(ctx context.Context, err error) {
		ended := make(chan error, 1)
		s := &set{p: &Publisher{Counts: Counts{Refused: refusals}}, ctx: ctx, all: all, done: func(err error) { ended <- err }}
		s.left.Store(2)
		s.promise(0, err)
		s.promise(1, err)
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

// TestOutgoing: changes and dead letters are numbered together, and a part of them keeps their
// places.
func TestOutgoing(t *testing.T) {
	header := []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00")}}
	o := Outgoing{
		Topics: [...]string{projections.OutUnread: "unread", projections.OutChannels: "channels", projections.OutReceipts: "receipts"},
		Deltas: []projections.OutRecord{
			{Topic: projections.OutUnread, Partition: 3, Key: []byte("ann"), Value: []byte("1")},
			{Topic: projections.OutReceipts, Partition: 1, Key: []byte("m1"), Value: []byte("2")},
			{Topic: projections.OutChannels, Partition: 2, Key: []byte("general")},
		},
		Headers: map[int32][]kgo.RecordHeader{1: header},
		Dead:    []*kgo.Record{{Topic: "dead", Partition: 7, Key: []byte("k"), Value: []byte("v"), Headers: header}},
	}
	want := []string{"unread/3 ann=1 0", "receipts/1 m1=2 1", "channels/2 general= 0", "dead/7 k=v 1"}
	text := func(r *kgo.Record) string {
		return fmt.Sprintf("%s/%d %s=%s %d", r.Topic, r.Partition, r.Key, r.Value, len(r.Headers))
	}
	var got []string
	for _, r := range o.Records() {
		got = append(got, text(r))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the records are %q, want %q", got, want)
	}
	var r kgo.Record
	part := some{&o, []int32{3, 1, 0}}
	for i, n := range part.which {
		topic, partition := part.Place(int32(i))
		part.Read(int32(i), &r) // into the memory of the one before
		if text(&r) != want[n] || topic != r.Topic || partition != r.Partition {
			t.Errorf("record %d of a part is %s at %s/%d, want %s", i, text(&r), topic, partition, want[n])
		}
	}
}
