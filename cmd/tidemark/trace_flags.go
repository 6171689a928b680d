package main

import (
	"fmt"

	"github.com/tidemark/tidemark/internal/trace/otlp"
)

// traceFlags set where a node sends its traces.
type traceFlags struct {
	OTelEndpoint string  `name:"otel-endpoint" placeholder:"URL" help:"OpenTelemetry collector that gets traces with OTLP over HTTP, such as http://collector:4318. By default there are no traces. OTEL_EXPORTER_OTLP_HEADERS may have a header with a key."`
	OTelSample   float64 `name:"otel-sample" default:"0.01" placeholder:"SHARE" help:"Share of the traces to record that begin here, from 0 to 1 (${default}). Traces that a service or a producer has begun are recorded if they record them."`
}

func (f *traceFlags) checkTraces() error {
	if f.OTelSample < 0 || f.OTelSample > 1 {
		return fmt.Errorf("--otel-sample %v: from 0 to 1", f.OTelSample)
	}
	if f.OTelEndpoint == "" {
		return nil
	}
	return otlp.CheckEndpoint(f.OTelEndpoint)
}

func (f *traceFlags) traces() otlp.Config {
	return otlp.Config{Endpoint: f.OTelEndpoint, Sample: f.OTelSample}
}
