package fetch

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/projections"
)

// TestPausesOutliveTheHandOver: when the client's consumer takes over, it does not fetch inputs
// that are paused because the disk is full or too many records wait.
func TestPausesOutliveTheHandOver(t *testing.T) {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	inputs := inputsOf(testkit.Topics(t, brokers, 1, 1))
	p := &engine.Engine{}
	p.Config.Topics.Inputs = inputs
	cl := testkit.Client(t, brokers, kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	f := NewFeeder(cl, inputs)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	go func() {
		defer close(ended)
		f.Run(ctx, func(*inbox.Inbox, events.Input, *kgo.FetchPartition) {}, func(context.Context) {})
	}()
	b := inbox.New(0, 1<<20, new(atomic.Int64), func(events.Input, bool) {})
	b.Expect(projections.Position{})
	b.PauseAll(true)

	(&Reader{r: p, box: b, feeder: f}).handOver()
	over := make(chan struct{})
	f.do(func() { close(over) })
	<-over
	if paused := cl.PauseFetchPartitions(nil); len(paused) != events.NumInputs {
		t.Errorf("paused are %v, want all inputs", paused)
	}
	b.PauseAll(false)
	if paused := cl.PauseFetchPartitions(nil); len(paused) != 0 {
		t.Errorf("paused are %v although there is room", paused)
	}
}
