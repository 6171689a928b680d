package trace

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Path is the traces of one fetch, from its records to what becomes of them later. A nil Path
// follows none. It is used by one goroutine.
type Path struct {
	tracer Tracer
	at     time.Time
	left   int // spans that may be begun
	parent []byte
}

// NewPath begins the path of a fetch; nil without a tracer.
func NewPath(t Tracer) *Path {
	if t == nil {
		return nil
	}
	return &Path{tracer: t, at: time.Now(), left: MaxAtOnce}
}

// At returns the path of one record, until At is called for the next; nil if its trace is not
// followed.
func (p *Path) At(r *kgo.Record) *Path {
	if p == nil || len(r.Headers) == 0 {
		return nil
	}
	if p.parent = Sampled(r.Headers); p.parent == nil {
		return nil
	}
	return p
}

// ID is that of the record's trace; empty if it is not followed.
func (p *Path) ID() string {
	if p == nil {
		return ""
	}
	return TraceID(p.parent)
}

// Begin begins a span below the record's, and returns what ends it; nil: MaxAtOnce spans of this
// fetch were begun.
func (p *Path) Begin(name string) (end func()) {
	if p.left == 0 {
		return nil
	}
	span := p.tracer.Follow(p.parent, name, p.at)
	if span == nil {
		return nil
	}
	p.left--
	return func() { span.End(time.Now(), nil) }
}

// Start begins a trace with the writing of a record. It returns the record's headers and what ends
// the span. Without a tracer, and if the trace is not sampled, there are no headers.
func Start(t Tracer, name string) (headers []kgo.RecordHeader, end func(error)) {
	if t == nil {
		return nil, func(error) {}
	}
	span := t.Begin(context.Background(), name)
	if span == nil {
		return nil, func(error) {}
	}
	return Headers(span.Traceparent()), func(err error) { span.End(time.Now(), err) }
}
