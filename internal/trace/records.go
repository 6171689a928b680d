package trace

import (
	"bytes"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// MaxAtOnce bounds the traces that a part of a node follows at once. Further ones get no span
// there: a producer that samples everything must not make the engine slow.
const MaxAtOnce = 64

// Spans are those of the records of one fetch, one for each parent.
type Spans struct {
	parents [][]byte
	spans   []Span
}

// Records begins a span for each parent that the fetched records carry, MaxAtOnce at most.
func Records(t Tracer, name string, fetches kgo.Fetches) *Spans {
	s := &Spans{}
	at := time.Now()
	fetches.EachRecord(func(r *kgo.Record) {
		parent := Sampled(r.Headers)
		if parent == nil || len(s.parents) == MaxAtOnce || s.Of(r.Headers) != nil {
			return
		}
		if span := t.Follow(parent, name, at, Place(r)...); span != nil {
			s.parents, s.spans = append(s.parents, parent), append(s.spans, span)
		}
	})
	return s
}

// Of returns the span that a record with these headers belongs to; nil if there is none.
func (s *Spans) Of(headers []kgo.RecordHeader) Span {
	if len(headers) == 0 || s == nil || len(s.parents) == 0 {
		return nil
	}
	parent := Sampled(headers)
	for i := range s.parents {
		if parent != nil && bytes.Equal(s.parents[i], parent) {
			return s.spans[i]
		}
	}
	return nil
}

// End ends all spans, with the error that the work on the records ended by.
func (s *Spans) End(err error) {
	if s == nil {
		return
	}
	at := time.Now()
	for _, span := range s.spans {
		span.End(at, err)
	}
}

// Place says which record a span is of.
func Place(r *kgo.Record) []Attribute {
	return []Attribute{
		{"messaging.system", "kafka"}, {"messaging.destination.name", r.Topic},
		{"messaging.destination.partition.id", int64(r.Partition)}, {"messaging.kafka.offset", r.Offset},
	}
}
