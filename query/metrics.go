package query

import (
	"context"
	"log/slog"
	"path"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/gate"
	"github.com/tidemark/tidemark/query/queryv1"
)

// metrics counts calls by method and code. It is an interceptor, so requests that never became a
// call (bad JSON, a wrong path) are not counted.
type metrics struct {
	calls     *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	forwarded prometheus.Counter
	watches   prometheus.Gauge
	relays    prometheus.Gauge
	refused   *prometheus.CounterVec
	log       *obs.Seldom
	trace     trace.Tracer // nil: no trace is beside a time
}

// Reasons of refused calls in metrics.refused, in addition to gate.Reasons.
const (
	refusedToken  = "token"
	refusedBodies = "bodies"
	refusedWaits  = "waits"
)

func newMetrics(r prometheus.Registerer, log *slog.Logger) *metrics {
	m := &metrics{
		log: obs.NewSeldom(log, nil),
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
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tidemark_query_refused_total", Help: "Calls refused by a limit or for their token, by reason.",
	}, []string{"reason"})
	for _, reason := range append([]string{refusedToken, refusedBodies, refusedWaits}, gate.Reasons...) {
		m.refused.WithLabelValues(reason) // creates the series at the start
	}
	for _, method := range methods() {
		if !method.IsStreamingServer() {
			m.seconds.WithLabelValues(string(method.Name()))
		}
		for _, code := range append([]string{"ok"}, callCodes...) {
			m.calls.WithLabelValues(string(method.Name()), code)
		}
	}
	if r != nil {
		r.MustRegister(m.calls, m.seconds, m.forwarded, m.watches, m.relays, m.refused)
	}
	return m
}

// callCodes are the codes with which calls of these services end. Their series start at 0: an alert
// on an increase would not see the first event of a series that begins with that event.
var callCodes = func() (names []string) {
	for _, c := range []connect.Code{connect.CodeCanceled, connect.CodeInvalidArgument, connect.CodeDeadlineExceeded, connect.CodeNotFound,
		connect.CodePermissionDenied, connect.CodeResourceExhausted, connect.CodeInternal, connect.CodeUnavailable, connect.CodeUnauthenticated, connect.CodeUnknown} {
		names = append(names, c.String())
	}
	return names
}()

// methods returns the methods of all served services.
func methods() (all []protoreflect.MethodDescriptor) {
	for _, file := range []protoreflect.FileDescriptor{queryv1.File_tidemark_query_v1_query_proto, ingestv1.File_tidemark_ingest_v1_ingest_proto} {
		for i := range file.Services().Len() {
			for s, j := file.Services().Get(i), 0; j < s.Methods().Len(); j++ {
				all = append(all, s.Methods().Get(j))
			}
		}
	}
	return all
}

func codeLabel(err error) string {
	if err == nil {
		return "ok"
	}
	return connect.CodeOf(err).String()
}

// logCause logs the cause of an error that the caller does not see.
func (m *metrics) logCause(ctx context.Context, method string, err error) {
	if why := fault.Cause(err); why != nil {
		m.log.Warn("a call could not be answered", "method", method, "err", why, "request_id", obs.RequestID(ctx))
	}
}

// WrapUnary implements connect.Interceptor.
func (m *metrics) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		start := time.Now()
		res, err := next(ctx, req)
		name := path.Base(req.Spec().Procedure)
		m.calls.WithLabelValues(name, codeLabel(err)).Inc()
		m.logCause(ctx, name, err)
		traced := ""
		if m.trace != nil {
			traced = trace.TraceID(m.trace.Of(ctx))
		}
		trace.Observe(m.seconds.WithLabelValues(name), time.Since(start).Seconds(), traced)
		return res, err
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (m *metrics) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		m.calls.WithLabelValues(path.Base(conn.Spec().Procedure), codeLabel(err)).Inc()
		m.logCause(ctx, path.Base(conn.Spec().Procedure), err)
		return err
	}
}

// WrapStreamingClient implements connect.Interceptor; calls to other nodes are not counted.
func (m *metrics) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
