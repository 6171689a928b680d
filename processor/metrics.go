package processor

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// phase is a part of the work on a batch, timed on its own.
type phase uint8

const (
	phaseDecode  phase = iota // records to events, checks included
	phaseFold                 // events into the state, waiting for the lock included
	phaseDrain                // changes to output records
	phasePublish              // from the first record's handing over to the last acknowledgement
	phaseCut                  // dirty state to a batch
	phaseApply                // writing that
	phaseCommit               // group offsets
	numPhases
)

var phaseNames = [numPhases]string{"decode", "fold", "drain", "publish", "cut", "apply", "commit"}

var outcomeNames = [projections.NumOutcomes]string{"applied", "duplicate", "ignored", "waiting", "too_many_held", "channel_full"}

// kindInput is the input that a kind of event comes from.
func kindInput(k events.Kind) events.Input {
	switch {
	case k <= events.KindChannelDeleted:
		return events.Messages
	case k <= events.KindUserErased:
		return events.Reads
	}
	return events.Deliveries
}

// metrics are those of all partitions. Gauges are read from the workers when they are asked for (collector.go).
type metrics struct {
	inputs [events.NumInputs]string

	events      [events.NumKinds][projections.NumOutcomes]prometheus.Counter
	clock       [events.NumInputs]prometheus.Counter
	dead        *prometheus.CounterVec
	phases      [numPhases]prometheus.Observer
	batches     prometheus.Observer
	deltas      prometheus.Observer
	retried     prometheus.Counter
	refused     *prometheus.CounterVec
	groupErrors prometheus.Counter
	rebalances  *prometheus.CounterVec

	restores, snapshotsTaken   *prometheus.CounterVec
	snapshotBytes, quarantined prometheus.Counter
	storesRemoved              prometheus.Counter
	snapshotTimes              snapshotTimes

	all []prometheus.Collector
}

func newMetrics(t Topics) *metrics {
	const ns, sub = "tidemark", "processor"
	m := &metrics{inputs: t.Inputs}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help}, labels)
		m.all = append(m.all, c)
		return c
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help,
			Buckets: buckets}, labels)
		m.all = append(m.all, h)
		return h
	}
	folded := counter("events_total", "Events folded, by topic, kind and what they did.", "topic", "kind", "outcome")
	for k := events.KindNone + 1; k < events.NumKinds; k++ {
		for o := range projections.NumOutcomes {
			m.events[k][o] = folded.WithLabelValues(t.Inputs[kindInput(k)], k.String(), outcomeNames[o])
		}
	}
	clock := counter("clock_replaced_total", "Events with a time too far ahead, replaced by the record's.", "topic")
	for i := range m.clock {
		m.clock[i] = clock.WithLabelValues(t.Inputs[i])
	}
	m.dead = counter("dead_letters_total", "Records copied to the dead letters, by topic and reason.", "topic", "reason")
	phases := histogram("phase_seconds", "Time of each phase of a batch.", prometheus.ExponentialBuckets(16e-6, 4, 10), "phase")
	for p := range m.phases {
		m.phases[p] = phases.WithLabelValues(phaseNames[p])
	}
	sizes := prometheus.ExponentialBuckets(1, 4, 10)
	m.batches = histogram("batch_records", "Records folded between two drains.", sizes).WithLabelValues()
	m.deltas = histogram("batch_deltas", "Output records of one drain.", sizes).WithLabelValues()
	m.retried = counter("publish_retries_total", "Output records produced again after the client gave up.").WithLabelValues()
	m.refused = counter("publish_refused_total", "Publishing that failed for good at a record of this topic: a missing right, a record too large.", "topic")
	m.groupErrors = counter("group_errors_total", "Ends of a group session by an error.").WithLabelValues()
	m.rebalances = counter("partitions_moved_total", "Partitions assigned, revoked and lost.", "how")
	m.restores = counter("restores_total", "Partitions restored from a snapshot, or that it failed.", "outcome")
	m.snapshotsTaken = counter("snapshots_total", "Snapshots taken, refused because another owner has taken one, failed, or left out "+
		"because nothing has changed.", "outcome")
	for _, outcome := range []string{"done", "unchanged", "refused", "failed"} {
		m.snapshotsTaken.WithLabelValues(outcome)
	}
	m.snapshotBytes = counter("snapshot_uploaded_bytes_total", "Bytes uploaded for snapshots.").WithLabelValues()
	m.quarantined = counter("stores_quarantined_total", "Corrupt stores that were moved aside.").WithLabelValues()
	m.storesRemoved = counter("stores_removed_total", "Stores of partitions that had moved away, removed after the store retention.").WithLabelValues()
	return m
}

func (m *metrics) restored(outcome string)  { m.restores.WithLabelValues(outcome).Inc() }
func (m *metrics) snapshots(outcome string) { m.snapshotsTaken.WithLabelValues(outcome).Inc() }

// register adds everything to reg, or nothing.
func (m *metrics) register(reg prometheus.Registerer, extra ...prometheus.Collector) (unregister func(), err error) {
	all := append(append([]prometheus.Collector(nil), m.all...), extra...)
	var done []prometheus.Collector
	unregister = func() {
		for _, c := range done {
			reg.Unregister(c)
		}
	}
	for _, c := range all {
		if err = reg.Register(c); err != nil {
			unregister()
			return nil, errors.Join(errors.New("processor: another processor has its metrics in this registry"), err)
		}
		done = append(done, c)
	}
	return unregister, nil
}

// workerMetrics counts for one partition what is added to the shared counters once per batch: the shared ones are
// contended.
type workerMetrics struct {
	*metrics
	events [events.NumKinds][projections.NumOutcomes]uint32
}

func (m *workerMetrics) folded(k events.Kind, o projections.Outcome, clockReplaced bool) {
	m.events[k][o]++
	if clockReplaced {
		m.clock[kindInput(k)].Inc()
	}
}

func (m *workerMetrics) flush() {
	for k := range m.events {
		for o, n := range m.events[k] {
			if n > 0 {
				m.metrics.events[k][o].Add(float64(n))
				m.events[k][o] = 0
			}
		}
	}
}

func (m *workerMetrics) deadLetter(in events.Input, reason events.Reason) {
	m.dead.WithLabelValues(m.inputs[in], string(reason)).Inc()
}

func (m *workerMetrics) batch(records, deltas int) {
	m.batches.Observe(float64(records))
	m.deltas.Observe(float64(deltas))
}

func (m *metrics) phase(p phase, d time.Duration) { m.phases[p].Observe(d.Seconds()) }
