package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otrace "go.opentelemetry.io/otel/trace"

	"github.com/tidemark/tidemark/internal/trace"
)

// Config configures a Tracer. Endpoint and Logger must be set.
type Config struct {
	// Endpoint is the URL of the collector, such as http://127.0.0.1:4318. Without a path, spans go
	// to /v1/traces.
	Endpoint string
	// Sample is the share of the traces that begin here that are recorded, from 0 to 1. A trace that
	// a producer or another service has begun is recorded if they record it.
	Sample float64
	// Version and Instance name this node in its spans.
	Version, Instance string
	// Every is how long spans wait at most to be sent; 0: 5 s.
	Every time.Duration
	// Registerer takes the metrics. Nil: none.
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// CheckEndpoint returns what is wrong with the URL of a collector; nil if nothing is.
func CheckEndpoint(endpoint string) error {
	_, err := parseEndpoint(endpoint)
	return err
}

func parseEndpoint(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("--otel-endpoint %q is not the URL of a collector: write it as http://collector:4318", endpoint)
	}
	return u, nil
}

// Tracer sends spans to a collector.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   otrace.Tracer
	format   propagation.TraceContext
}

var _ trace.Tracer = (*Tracer)(nil)

// New makes a Tracer. The collector need not be there yet: spans that cannot be sent are lost, and
// counted.
func New(ctx context.Context, c Config) (*Tracer, error) {
	to, err := parseEndpoint(c.Endpoint)
	if err != nil {
		return nil, err
	}
	if to.Path == "" || to.Path == "/" {
		to.Path = "/v1/traces"
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(to.String()), otlptracehttp.WithTimeout(5*time.Second),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: 15 * time.Second}))
	if err != nil {
		return nil, fmt.Errorf("--otel-endpoint %s: %w", c.Endpoint, err)
	}
	who := resource.NewSchemaless(attribute.String("service.name", "tidemark"), attribute.String("service.version", c.Version),
		attribute.String("service.instance.id", c.Instance))
	var batches []sdk.BatchSpanProcessorOption
	if c.Every > 0 {
		batches = append(batches, sdk.WithBatchTimeout(c.Every))
	}
	out := newSender(client, c)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(out.failed))
	p := sdk.NewTracerProvider(sdk.WithResource(who), sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.Sample))),
		sdk.WithBatcher(out, batches...))
	return &Tracer{provider: p, tracer: p.Tracer("github.com/tidemark/tidemark")}, nil
}

// Close sends the spans that wait, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }
