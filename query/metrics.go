package query

import (
	"context"
	"path"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts calls by method and code. It is an interceptor, so what never became a call (bad JSON, a wrong path)
// is not in it.
type metrics struct {
	calls     *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	forwarded prometheus.Counter
	watches   prometheus.Gauge
	relays    prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemark_query_calls_total", Help: "Calls answered, streams when they end, by method and code.",
		}, []string{"method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidemark_query_seconds", Help: "Time to answer a call that is no stream, waiting for after included.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method"}),
		forwarded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidemark_query_forwarded_total", Help: "Calls sent on to another node.",
		}),
		watches: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tidemark_query_watches", Help: "WatchUnread streams that clients have open.",
		}),
		relays: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tidemark_query_watch_relays", Help: "WatchUnread streams that other nodes have open for their clients.",
		}),
	}
	if r != nil {
		r.MustRegister(m.calls, m.seconds, m.forwarded, m.watches, m.relays)
	}
	return m
}

func codeLabel(err error) string {
	if err == nil {
		return "ok"
	}
	return connect.CodeOf(err).String()
}

// WrapUnary implements connect.Interceptor.
func (m *metrics) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		start := time.Now()
		res, err := next(ctx, req)
		name := path.Base(req.Spec().Procedure)
		m.calls.WithLabelValues(name, codeLabel(err)).Inc()
		m.seconds.WithLabelValues(name).Observe(time.Since(start).Seconds())
		return res, err
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (m *metrics) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		m.calls.WithLabelValues(path.Base(conn.Spec().Procedure), codeLabel(err)).Inc()
		return err
	}
}

// WrapStreamingClient implements connect.Interceptor; clients are not counted.
func (m *metrics) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
