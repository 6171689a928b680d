package trace

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"

// Of the headers of a record counts a traceparent whose flags have the lowest bit.
func TestSampled(t *testing.T) {
	for flags := range 256 {
		value := parent + string("0123456789abcdef"[flags>>4]) + string("0123456789abcdef"[flags&15])
		if got := Sampled([]kgo.RecordHeader{{Key: "other"}, {Key: Header, Value: []byte(value)}}); (got != nil) != (flags&1 == 1) {
			t.Errorf("%s: %q", value, got)
		}
	}
	for _, bad := range []string{"", "x", parent, parent + "0", parent + "0x"} {
		if got := Sampled(Headers([]byte(bad))); got != nil {
			t.Errorf("%q is taken for a sampled one", bad)
		}
	}
	if id := TraceID([]byte(parent + "01")); id != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("the trace is %q", id)
	}
}

// counting counts the spans that are begun and ended.
type counting struct{ begun, ended int }

func (c *counting) Follow(parent []byte, _ string, _ time.Time, _ ...Attribute) Span {
	c.begun++
	return &spanOf{c, parent}
}

func (c *counting) Begin(context.Context, string, ...Attribute) Span { return nil }

func (c *counting) Of(context.Context) []byte { return nil }

type spanOf struct {
	of     *counting
	parent []byte
}

func (s *spanOf) Traceparent() []byte { return s.parent }

func (s *spanOf) End(time.Time, error) { s.of.ended++ }

// fetched are n records, each of a trace of its own, two records each.
func fetched(n int) kgo.Fetches {
	var list []*kgo.Record
	for i := range n {
		for range 2 {
			list = append(list, &kgo.Record{Topic: "t", Headers: Headers([]byte("00-4bf92f3577b34da6a3ce929d0e" + strconv.Itoa(100000+i) + "-00f067aa0ba902b7-01"))})
		}
	}
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "t", Partitions: []kgo.FetchPartition{{Records: list}}}}}}
}

// A fetch has a span for each trace, and no more than MaxAtOnce.
func TestTheSpansOfAFetchAreBounded(t *testing.T) {
	for n, want := range map[int]int{0: 0, 3: 3, 2 * MaxAtOnce: MaxAtOnce} {
		var c counting
		Records(&c, "x", fetched(n)).End(nil)
		if c.begun != want || c.ended != want {
			t.Errorf("%d traces: %d spans, %d ended, want %d", n, c.begun, c.ended, want)
		}
		c = counting{}
		p := NewPath(&c)
		for _, r := range fetched(n).Records() {
			if end := p.At(r).Begin("x"); end != nil {
				end()
			}
		}
		if c.begun != min(2*n, MaxAtOnce) || c.ended != c.begun {
			t.Errorf("%d records: %d frames, %d ended", 2*n, c.begun, c.ended)
		}
	}
}

// Without a tracer nothing is allocated.
func TestOffCostsNothing(t *testing.T) {
	r := &kgo.Record{Headers: Headers([]byte(parent + "01"))}
	if n := testing.AllocsPerRun(100, func() {
		p := NewPath(nil)
		if p.At(r) != nil || p.At(r).ID() != "" {
			t.Error("a path without a tracer")
		}
		headers, end := Start(nil, "x")
		end(nil)
		if headers != nil {
			t.Error("headers without a tracer")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
