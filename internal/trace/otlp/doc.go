// Package otlp sends the spans of a node to an OpenTelemetry collector, with OTLP over HTTP.
//
//	tracer.go  Tracer: from New to Close
//	span.go    spans of the engine
//	calls.go   spans of calls, and of calls to other nodes
//	send.go    what was sent, and what was lost
package otlp
