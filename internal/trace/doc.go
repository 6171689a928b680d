// Package trace is what the engine knows of traces: a Tracer, which is nil unless the node has
// --otel-endpoint, and the header traceparent of records (W3C Trace Context).
//
// A trace follows an event from the record that its producer has sampled to the sockets. The
// processor begins a span for the fold of the record, and one for the publishing of the deltas that
// the record caused, whose traceparent these carry. The cache and the gateway go on from there.
// Whoever reads a record without the header, or with one that is not sampled, does nothing.
//
// Package otlp, below this one, is the Tracer that sends spans to a collector. No other package
// imports OpenTelemetry, so a program that only reads from Redis does not link it.
//
//	trace.go    Tracer and Span, and the header
//	records.go  the spans of fetched records
//	path.go     from the records of a fetch to the frames that they become
//	exemplar.go a trace beside a measured value
package trace
