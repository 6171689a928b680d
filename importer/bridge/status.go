package bridge

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/obs"
)

// logEvery is the time between two log lines about the bridge.
const logEvery = time.Minute

// status is the state of a bridge.
type status struct {
	connected      prometheus.Gauge
	failed         prometheus.Counter
	written        *prometheus.CounterVec
	transactions   prometheus.Counter
	problems       prometheus.Counter
	retained, free prometheus.Gauge

	mu      sync.Mutex
	why     error     // why the bridge does not follow the database; nil if it does
	oldest  time.Time // commit of the transaction in progress; zero if all are written
	newest  time.Time // commit of the last written transaction
	records int
	reasons map[string]bool
}

func newStatus(r prometheus.Registerer) *status {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "tidemark_bridge_" + name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tidemark_bridge_" + name, Help: help})
	}
	s := &status{
		connected:    gauge("connected", "1 while the bridge follows the database."),
		failed:       counter("sessions_failed_total", "Times that the bridge began again after an error."),
		transactions: counter("transactions_total", "Transactions of the database that were written."),
		problems:     counter("not_mapped_total", "Changes that could not be mapped as they are."),
		retained:     gauge("slot_held_bytes", "WAL that the database keeps for the slot."),
		free:         gauge("slot_free_bytes", "WAL until the database gives the slot up (max_slot_wal_keep_size); -1: never."),
		written: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemark_bridge_records_total", Help: "Events that were written, by topic.",
		}, []string{"topic"}),
		reasons: map[string]bool{}, why: errors.New("it has not started"),
	}
	for _, in := range []events.Input{events.Messages, events.Reads} {
		s.written.WithLabelValues(in.String())
	}
	if r != nil {
		r.MustRegister(s.connected, s.failed, s.transactions, s.problems, s.retained, s.free, s.written,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "tidemark_bridge_lag_seconds", Help: "Age of the oldest change that is not written; 0 if all are.",
			}, func() float64 { return s.lag().Seconds() }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "tidemark_bridge_newest_age_seconds", Help: "Age of the newest change that is written.",
			}, func() float64 { return s.age().Seconds() }))
	}
	return s
}

// follows records that the bridge follows the database, or why it does not.
func (s *status) follows(err error) {
	connected := 0.0
	if err == nil {
		connected = 1
	}
	s.connected.Set(connected)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = err
}

// Ready reports whether the bridge follows the database.
func (b *Bridge) Ready() obs.Readiness {
	b.status.mu.Lock()
	defer b.status.mu.Unlock()
	if err := b.status.why; err != nil {
		return obs.Readiness{Lines: []string{"the bridge does not follow the database: " + err.Error()}}
	}
	return obs.Readiness{Ready: true}
}

// taken records a transaction of the batch.
func (s *status) taken(tx *source.Transaction) {
	s.transactions.Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.oldest.IsZero() {
		s.oldest = tx.Time
	}
}

// committed records a written batch.
func (s *status) committed(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records += b.events
	if !b.newest.IsZero() {
		s.newest, s.oldest = b.newest, b.newest // until the stream has no more
	}
}

// caughtUp records that the database has no further change.
func (s *status) caughtUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = time.Time{}
}

func (s *status) lag() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.oldest.IsZero() {
		return 0
	}
	return max(0, time.Since(s.oldest))
}

func (s *status) age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest.IsZero() {
		return 0
	}
	return max(0, time.Since(s.newest))
}

func (s *status) holds(h *source.Retained) {
	s.retained.Set(float64(h.Bytes))
	s.free.Set(float64(h.Free))
}

// logState logs the state of the bridge; h is nil without a slot.
func (s *status) logState(log *slog.Logger, h *source.Retained) {
	lag, age := s.lag(), s.age()
	s.mu.Lock()
	records := s.records
	s.mu.Unlock()
	fields := []any{"lag", lag.Round(time.Millisecond), "newest", age.Round(time.Millisecond), "events", records}
	if h != nil {
		fields = append(fields, "slot", h.String())
	}
	log.Info("the bridge is following", fields...)
}

// isNew reports whether a reason has not been logged yet.
func (s *status) isNew(reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons[reason] {
		return false
	}
	s.reasons[reason] = true
	return true
}
