package otlp

import (
	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
)

// Calls makes the interceptor that begins a span for each call that a node answers, and for each
// call that it sends to another node, which continues the trace. It believes the traceparent of a
// call: whoever puts it in front of strangers removes the header of theirs.
func (t *Tracer) Calls() (connect.Interceptor, error) {
	return otelconnect.NewInterceptor(otelconnect.WithTracerProvider(t.provider), otelconnect.WithPropagator(t.format),
		otelconnect.WithTrustRemote(), otelconnect.WithoutMetrics())
}
