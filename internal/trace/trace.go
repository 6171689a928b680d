package trace

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Header is the name of the header of a record that carries a trace, as W3C Trace Context writes
// it: version, trace, span and flags, in hexadecimal digits, with dashes between them.
const Header = "traceparent"

// Tracer begins spans. All of its methods may be called at once.
type Tracer interface {
	// Follow begins a span below a sampled parent, which is the value of a traceparent. It returns
	// nil if parent cannot be read.
	Follow(parent []byte, name string, at time.Time, attributes ...Attribute) Span
	// Begin begins a span below that of ctx, or a new trace if ctx has none. It returns nil if the
	// trace is not sampled.
	Begin(ctx context.Context, name string, attributes ...Attribute) Span
	// Of returns the traceparent of the span of ctx; nil if it has none, or none that is sampled.
	Of(ctx context.Context) []byte
}

// Span is a part of a trace that takes time. All of its methods may be called at once.
type Span interface {
	// Traceparent is the value of the header by which the trace goes on below this span.
	Traceparent() []byte
	// End ends the span, with the error that it ended by; nil: none. Only the first call counts.
	End(at time.Time, err error)
}

// Attribute says more about a span. Value is a string or an int64.
type Attribute struct {
	Key   string
	Value any
}

// The places of a traceparent of version 00: 00-<32 digits>-<16 digits>-<2 digits>.
const (
	traceAt, traceEnd = 3, 35
	length            = 55
)

// Sampled returns the traceparent that the headers of a record carry; nil if there is none, or one
// that is not sampled.
func Sampled(headers []kgo.RecordHeader) []byte {
	for i := range headers {
		if h := &headers[i]; h.Key == Header {
			if len(h.Value) < length || !sampled(h.Value[length-1]) {
				return nil
			}
			return h.Value
		}
	}
	return nil
}

// sampled reports whether the last digit of the flags has the lowest bit.
func sampled(digit byte) bool {
	switch {
	case '0' <= digit && digit <= '9':
		return digit&1 == 1
	case 'a' <= digit && digit <= 'f':
		return digit&1 == 0 // 'b' is 11
	}
	return false
}

// TraceID returns the trace that a traceparent names; empty if it is too short.
func TraceID(parent []byte) string {
	if len(parent) < length {
		return ""
	}
	return string(parent[traceAt:traceEnd])
}

// Headers returns the headers of a record that carries a traceparent; nil if parent is nil.
func Headers(parent []byte) []kgo.RecordHeader {
	if parent == nil {
		return nil
	}
	return []kgo.RecordHeader{{Key: Header, Value: parent}}
}
