package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/gateway/internal/shown"
)

// metrics are a gateway's metrics. No label has the id of a user.
type metrics struct {
	frames, bytes, commands, refused, slow, bad, produceErrors, unchanged, autoReads, delivered prometheus.Counter
	queued, queuedUnknown, queuedLate, queuedFailed, asked, asksDropped                         prometheus.Counter
	closes, handshakes                                                                          *prometheus.CounterVec
	inboxes, behind                                                                             prometheus.Histogram
	shown                                                                                       *shown.Checks
}

func newMetrics(r prometheus.Registerer, g *Gateway) *metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "tidemark", Subsystem: "gateway", Name: name, Help: help})
		if r != nil {
			r.MustRegister(c)
		}
		return c
	}
	vector := func(name, label, help string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tidemark", Subsystem: "gateway", Name: name, Help: help}, []string{label})
		if r != nil {
			r.MustRegister(v)
		}
		return v
	}
	histogram := func(name, help string) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "tidemark", Subsystem: "gateway", Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
		})
		if r != nil {
			r.MustRegister(h)
		}
		return h
	}
	if r != nil {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "tidemark", Subsystem: "gateway", Name: "connections", Help: "Open sockets.",
		}, func() float64 { return float64(g.count.Load()) }))
	}
	m := &metrics{
		frames:        counter("frames_sent_total", "Frames written to sockets."),
		bytes:         counter("bytes_sent_total", "Bytes written to sockets."),
		commands:      counter("frames_received_total", "Frames of clients."),
		refused:       counter("frames_refused_total", "Frames of clients beyond their rate."),
		slow:          counter("slow_clients_total", "Connections that ended because the client took too little."),
		bad:           counter("records_passed_over_total", "Records of the topics that could not be read."),
		produceErrors: counter("produce_errors_total", "Events that were not acknowledged."),
		unchanged:     counter("reads_unchanged_total", "Reads that changed nothing and were dropped."),
		autoReads:     counter("auto_reads_total", "Reads written for users who look at a channel."),
		delivered:     counter("delivered_total", "Messages reported as delivered."),
		queued:        counter("queued_total", "Messages reported as queued for a member without a socket."),
		queuedUnknown: counter("queued_unknown_total", "Messages passed over because the channel's members could not be asked for."),
		queuedFailed:  counter("queued_failed_total", "Messages passed over because judging whether they are queued panics."),
		queuedLate:    counter("queued_late_total", "Messages that nobody is told of as queued because their records are older than --queue-within."),
		asked:         counter("owner_asked_total", "Counts that could not be derived and were asked for."),
		asksDropped:   counter("owner_asks_dropped_total", "Counts that could not be derived nor asked for."),
		closes:        vector("closed_total", "code", "Connections that the gateway closed, by code."),
		handshakes:    vector("handshakes_total", "result", "Attempts to connect."),
		shown:         shown.New(r, g.cfg.Logger),
		inboxes:       histogram("inbox_seconds", "Reading an inbox."),
		behind:        histogram("delta_age_seconds", "From a delta's record to its frame."),
	}
	m.begin()
	return m
}

// begin creates all series at the start, so that an alert on an increase notices the first event.
func (m *metrics) begin() {
	for _, code := range []websocket.StatusCode{CloseToken, CloseSlow, CloseRate, CloseElsewhere, CloseTryAgain, websocket.StatusUnsupportedData} {
		m.closes.WithLabelValues(strconv.Itoa(int(code)))
	}
	for _, result := range []string{"accepted", "full", "failed"} {
		m.handshakes.WithLabelValues(result)
	}
	for _, result := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
		http.StatusServiceUnavailable, CloseToken, CloseRate, int(CloseTryAgain)} {
		m.handshakes.WithLabelValues(strconv.Itoa(result))
	}
}

func (m *metrics) closed(code websocket.StatusCode) {
	m.closes.WithLabelValues(strconv.Itoa(int(code))).Inc()
}

// timed returns a function that observes the time since timed was called.
func (m *metrics) timed(h prometheus.Histogram) func() {
	began := time.Now()
	return func() { h.Observe(time.Since(began).Seconds()) }
}
