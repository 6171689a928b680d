package otlp

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/tidemark/tidemark/internal/obs"
)

// sender counts the spans that an exporter sends.
type sender struct {
	sdk.SpanExporter
	sent, lost prometheus.Counter
	log        *obs.Seldom
	endpoint   string
}

func newSender(to sdk.SpanExporter, c Config) *sender {
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tidemark_trace_spans_total",
		Help: "Spans that the collector has taken (sent), and that it refused or was not there for (lost). Only with --otel-endpoint.",
	}, []string{"outcome"})
	if c.Registerer != nil {
		c.Registerer.MustRegister(spans)
	}
	return &sender{to, spans.WithLabelValues("sent"), spans.WithLabelValues("lost"), obs.NewSeldom(c.Logger, nil), c.Endpoint}
}

// ExportSpans implements sdk.SpanExporter.
func (s *sender) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		s.lost.Add(float64(len(spans)))
		return err
	}
	s.sent.Add(float64(len(spans)))
	return nil
}

// failed logs what the library reports, at most once a second.
func (s *sender) failed(err error) {
	s.log.Warn("spans were not sent to the collector: nothing else waits for it", "endpoint", s.endpoint, "err", err)
}
