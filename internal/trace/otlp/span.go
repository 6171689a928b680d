package otlp

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otrace "go.opentelemetry.io/otel/trace"

	"github.com/tidemark/tidemark/internal/trace"
)

// carrier is the headers that a trace is read from and written to.
type carrier struct{ parent string }

// Get implements propagation.TextMapCarrier.
func (c *carrier) Get(key string) string {
	if key == trace.Header {
		return c.parent
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c *carrier) Set(key, value string) {
	if key == trace.Header {
		c.parent = value
	}
}

// Keys implements propagation.TextMapCarrier.
func (c *carrier) Keys() []string { return []string{trace.Header} }

// Follow implements trace.Tracer.
func (t *Tracer) Follow(parent []byte, name string, at time.Time, attributes ...trace.Attribute) trace.Span {
	ctx := t.format.Extract(context.Background(), &carrier{string(parent)})
	if !otrace.SpanContextFromContext(ctx).IsSampled() {
		return nil
	}
	return t.begin(ctx, name, attributes, otrace.WithTimestamp(at), otrace.WithSpanKind(otrace.SpanKindConsumer))
}

// Begin implements trace.Tracer.
func (t *Tracer) Begin(ctx context.Context, name string, attributes ...trace.Attribute) trace.Span {
	return t.begin(ctx, name, attributes, otrace.WithSpanKind(otrace.SpanKindProducer))
}

// begin returns nil if the trace is not sampled.
func (t *Tracer) begin(ctx context.Context, name string, attributes []trace.Attribute, options ...otrace.SpanStartOption) trace.Span {
	ctx, s := t.tracer.Start(ctx, name, options...)
	if !s.SpanContext().IsSampled() {
		return nil
	}
	for _, a := range attributes {
		switch v := a.Value.(type) {
		case string:
			s.SetAttributes(attribute.String(a.Key, v))
		case int64:
			s.SetAttributes(attribute.Int64(a.Key, v))
		}
	}
	return &span{s, t.traceparent(ctx)}
}

// Of implements trace.Tracer.
func (t *Tracer) Of(ctx context.Context) []byte {
	if !otrace.SpanContextFromContext(ctx).IsSampled() {
		return nil
	}
	return t.traceparent(ctx)
}

func (t *Tracer) traceparent(ctx context.Context) []byte {
	var c carrier
	t.format.Inject(ctx, &c)
	return []byte(c.parent)
}

// span is a span of the engine.
type span struct {
	otrace.Span
	traceparent []byte
}

// Traceparent implements trace.Span.
func (s *span) Traceparent() []byte { return s.traceparent }

// End implements trace.Span.
func (s *span) End(at time.Time, err error) {
	if err != nil {
		s.SetStatus(codes.Error, err.Error())
	}
	s.Span.End(otrace.WithTimestamp(at))
}
