package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Each span is read from its start to its end and no further: later records are left out, and a log
// that ends in a transaction marker is read to its end.
func TestReadSpans(t *testing.T) {
	const topic = "log"
	a, _, _ := newApp(t)
	f, cl := brokers(t, topic, 2)
	write := func(cl *kgo.Client, partition int32, from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(cl, 0, 0, 10)
	tx, err := kgo.NewClient(append(testkit.FastClientOpts(), kgo.SeedBrokers(f.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID("tx"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	write(tx, 1, 0, 3)
	if err := tx.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	spans, err := verbs.SpansOf(t.Context(), kadm.NewClient(cl), topic)
	if err != nil || len(spans) != 2 || spans[0].To != 10 || spans[1].To != 4 {
		t.Fatalf("%+v, %v", spans, err)
	}
	write(cl, 0, 10, 12)
	spans[0].From = 7
	var got []string
	began := time.Now()
	if err := verbs.ReadSpans(a, f, topic, spans, func(r *kgo.Record) error {
		got = append(got, fmt.Sprintf("%d:%s", r.Partition, r.Value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{"0:7", "0:8", "0:9", "1:0", "1:1", "1:2"}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the end was noticed after %v: by silence", took)
	}

	stop := errors.New("enough")
	if err := verbs.ReadSpans(a, f, topic, spans, func(*kgo.Record) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the error of fn is lost: %v", err)
	}
	one, err := verbs.Only(spans, topic, 1)
	if err != nil || len(one) != 1 || one[0].Partition != 1 {
		t.Errorf("%+v, %v", one, err)
	}
	var usage verbs.UsageError
	if _, err := verbs.Only(spans, topic, 2); !errors.As(err, &usage) || !strings.Contains(err.Error(), "partitions 0 to 1, not 2") {
		t.Errorf("the error is %v", err)
	}
}

// An empty log has no records, and an interrupted verb ends with its cause.
func TestReadSpansEnds(t *testing.T) {
	a, _, _ := newApp(t)
	f, cl := brokers(t, "empty", 1)
	spans, err := verbs.SpansOf(t.Context(), kadm.NewClient(cl), "empty")
	if err != nil {
		t.Fatal(err)
	}
	fail := func(r *kgo.Record) error { return fmt.Errorf("read %v", r) }
	if err := verbs.ReadSpans(a, f, "empty", spans, fail); err != nil {
		t.Error(err)
	}
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(interrupted) })
	spans[0].To = 1 // this record never comes
	if err := verbs.ReadSpans(within(ctx, a, nil), f, "empty", spans, fail); !errors.Is(err, interrupted) {
		t.Errorf("the error is %v", err)
	}
	if _, err := verbs.SpansOf(t.Context(), kadm.NewClient(cl), "missing"); err == nil ||
		!strings.Contains(err.Error(), "there is no such topic") || !strings.Contains(err.Error(), "topics create") {
		t.Errorf("the error is %v", err)
	}
}
