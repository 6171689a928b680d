package processor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// BenchmarkWholePath folds and publishes b.N events that are already in the topics of an embedded
// broker: 1 message to 15 reads in channels of 50. cpu-us/event is the CPU time of the processor
// and the broker together.
func BenchmarkWholePath(b *testing.B) {
	for _, limit := range []uint32{0, 50} {
		b.Run(fmt.Sprintf("fanout=%d", limit), func(b *testing.B) {
			s := newSite(b, testkit.FakeKafka(b).ListenAddrs(), 8)
			n := max(b.N, 1000)
			s.load(n)
			c := s.config(b.TempDir())
			c.Logger, c.Settings.FanoutLimit, c.CutEvery = nil, limit, time.Second
			b.ResetTimer()
			before := cpuTime()
			m := s.start(c)
			m.ready(8)
			s.caughtUp(m)
			m.stop()
			b.ReportMetric(float64(cpuTime()-before)/1e3/float64(n), "cpu-us/event")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// load writes n events of the mix.
func (s *site) load(n int) {
	tr := &traffic{s: s}
	r := rand.New(rand.NewPCG(1, 2))
	channels := max(n/500, 8)
	posted := make([]int, channels)
	produce := func(rec *kgo.Record) {
		s.client.Produce(context.Background(), rec, func(_ *kgo.Record, err error) {
			if err != nil {
				s.t.Error(err)
			}
		})
	}
	for c := range channels {
		var members []string
		for u := range 50 {
			members = append(members, fmt.Sprintf("user-%d", (c*7+u*13)%(channels*5+100)))
		}
		produce(tr.record(events.Messages, c, &eventsv1.MessageEvent{ChannelId: tr.name(c),
			Kind: &eventsv1.MessageEvent_MembersJoined{MembersJoined: &eventsv1.MembersJoined{UserIds: members}}}))
	}
	for i := range n {
		c := r.IntN(channels)
		user := fmt.Sprintf("user-%d", (c*7+r.IntN(50)*13)%(channels*5+100))
		if i%16 == 0 || posted[c] == 0 {
			produce(tr.record(events.Messages, c, postBy(tr.name(c), fmt.Sprintf("m%d", posted[c]), user)))
			posted[c]++
			continue
		}
		id := fmt.Sprintf("m%d", max(posted[c]-1-r.IntN(3), 0))
		produce(tr.record(events.Reads, c, &eventsv1.ReadEvent{ChannelId: tr.name(c), UserId: user,
			Kind: &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{Target: &eventsv1.ReadUpTo_MessageId{MessageId: id}}}}))
	}
	if err := s.client.Flush(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}
