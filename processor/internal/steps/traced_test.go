package steps

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// parentOf returns a sampled traceparent whose span has a number.
func parentOf(n int) []byte {
	return fmt.Appendf(nil, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba%05d-01", n)
}

// numbering is a tracer that numbers its spans in the order in which they begin.
type numbering struct {
	names []string
	ended int
}

func (n *numbering) Follow(parent []byte, name string, _ time.Time, _ ...trace.Attribute) trace.Span {
	n.names = append(n.names, name+" under "+string(parent[47:52]))
	return numbered{n, parentOf(len(n.names))}
}

func (n *numbering) Begin(context.Context, string, ...trace.Attribute) trace.Span { return nil }

func (n *numbering) Of(context.Context) []byte { return nil }

type numbered struct {
	of     *numbering
	parent []byte
}

func (s numbered) Traceparent() []byte { return s.parent }

func (s numbered) End(time.Time, error) { s.of.ended++ }

// A delta carries the trace of the newest event that may have caused it: a message of its channel,
// or an event of its user there.
func TestDeltasCarryTheTraceOfTheirEvent(t *testing.T) {
	var n numbering
	b := &batch{}
	add := func(in events.Input, channel, user string, header []byte, s slot) {
		i := len(b.items)
		b.items = append(b.items, merge.Item{In: in, Rec: &kgo.Record{Topic: "t", Headers: trace.Headers(header)}})
		b.slots = append(b.slots, s)
		b.messages[i].ChannelID, b.reads[i].ChannelID, b.reads[i].UserID = []byte(channel), []byte(channel), []byte(user)
		b.deliveries[i].ChannelID, b.deliveries[i].UserID = []byte(channel), []byte(user)
	}
	add(events.Messages, "general", "", parentOf(901), slot{kind: events.KindMessagePosted})
	add(events.Reads, "general", "ann", parentOf(902), slot{kind: events.KindReadUpTo})
	add(events.Messages, "plain", "", nil, slot{kind: events.KindMessagePosted})
	add(events.Messages, "bad", "", parentOf(903), slot{err: context.Canceled})
	add(events.Deliveries, "other", "bob", parentOf(904), slot{kind: events.KindQueued})
	var w traced
	w.folded(&n, b, time.Now(), time.Now())

	keys := map[string]int{ // the number of the span that is its trace; 0: none
		"general": 4, "ann\x00general": 4, "bob\x00general": 5, "bob\x00general\x00m1": 5, "plain": 0, "ann\x00plain": 0, "bad": 0,
		"ann\x00bad": 0, "other": 6, "bob\x00other": 6, "ann\x00other": 0,
	}
	records := make([]projections.OutRecord, 0, len(keys))
	for key := range keys {
		records = append(records, projections.OutRecord{Key: []byte(key)})
	}
	slices.SortFunc(records, func(a, b projections.OutRecord) int { return slices.Compare(a.Key, b.Key) })
	headers := w.publishes(&n, records, time.Now())
	if len(n.names) != 6 {
		t.Fatalf("the spans are %q", n.names)
	}
	spanOf := map[string]string{}
	for i, name := range n.names {
		spanOf[name] = string(parentOf(i + 1))
	}
	for i := range records {
		r := &records[i]
		want := ""
		switch keys[string(r.Key)] {
		case 4: // the newest one, below the fold of ann's read
			want = spanOf["publish under 00002"]
		case 5:
			want = spanOf["publish under 00001"]
		case 6:
			want = spanOf["publish under 00003"]
		}
		if got := string(trace.Sampled(headers[int32(i)])); got != want {
			t.Errorf("%q carries %q, want %q; the spans are %q", r.Key, got, want, n.names)
		}
	}
	if id := w.published(time.Now, nil); id != "4bf92f3577b34da6a3ce929d0e0e4736" || n.ended != 6 {
		t.Errorf("of %q, %d spans ended of the trace %q", n.names, n.ended, id)
	}
	w.drained(false)
	again := []projections.OutRecord{{Key: []byte("ann\x00general")}}
	if trace.Sampled(w.publishes(&n, again, time.Now())[0]) == nil {
		t.Error("a drain of channels alone forgets the traces of deltas")
	}
	w.drained(true)
	if len(w.publishes(&n, again, time.Now())) > 0 {
		t.Error("what was drained is still traced")
	}
}

// Records that are folded again before a partition is live make no spans, and neither do records
// without a trace. Without a tracer a worker keeps no spans and allocates nothing for them.
func TestOnlyNewsIsTraced(t *testing.T) {
	for name, of := range map[string]struct {
		header    []byte
		replaying bool
		want      int
	}{"news": {parentOf(1), false, 1}, "a replay": {parentOf(1), true, 0}, "no trace": {nil, false, 0}} {
		var n numbering
		s := newStage(t, opening.Plan{}, func(c *setup.Config) { c.Trace = &n })
		s.w.replaying = of.replaying
		r := s.record(events.Messages, eventValue(t, events.Messages))
		r.Headers = trace.Headers(of.header)
		s.w.Inbox.Fetch(events.Messages, []*kgo.Record{r}, 1)
		s.w.receive(s.now)
		s.w.foldSome(s.now)
		if len(s.fold.folded) != 1 {
			t.Fatalf("%s: folded were %v", name, s.fold.folded)
		}
		if got := len(slices.DeleteFunc(n.names, func(s string) bool { return s != "fold message_posted under 00001" })); got != of.want {
			t.Errorf("%s: the spans are %q", name, n.names)
		}
	}
	var w traced
	if n := testing.AllocsPerRun(100, func() {
		w.published(time.Now, nil)
		w.drained(true)
	}); n != 0 || w.events != nil || w.spans != nil {
		t.Errorf("%v allocations without a tracer", n)
	}
}
