package metrics

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/obs/codes"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// phase is a part of the work on a batch, timed on its own.
type phase uint8

// The phases of a batch.
const (
	PhaseDecode  phase = iota // records to events, checks included
	PhaseFold                 // events into the state, including the wait for the lock
	PhaseDrain                // changes to output records
	PhasePublish              // from handing over the first record to the last acknowledgement
	PhaseCut                  // dirty state to a batch
	PhaseApply                // writing that batch
	PhaseCommit               // group offsets
	numPhases
)

// PhaseNames are the labels of the phases.
var PhaseNames = [numPhases]string{"decode", "fold", "drain", "publish", "cut", "apply", "commit"}

var outcomeNames = [projections.NumOutcomes]string{"applied", "duplicate", "ignored", "waiting", "too_many_held", "channel_full", "expired_id"}

// kindInput returns the input that a kind of event comes from.
func kindInput(k events.Kind) events.Input {
	switch {
	case k < events.KindReadUpTo:
		return events.Messages
	case k < events.KindDelivered:
		return events.Reads
	}
	return events.Deliveries
}

// Set has the metrics of all partitions. Gauges are read from the workers at each scrape
// (collector.go).
type Set struct {
	inputs [events.NumInputs]string

	events      [events.NumKinds][projections.NumOutcomes]prometheus.Counter
	clock       [events.NumInputs]prometheus.Counter
	Strangers   strangers
	dead        *prometheus.CounterVec
	phases      [numPhases]prometheus.Observer
	batches     prometheus.Observer
	deltas      prometheus.Observer
	badges      prometheus.Observer
	Retried     prometheus.Counter
	Refused     *prometheus.CounterVec
	Fences      prometheus.Counter
	CaughtUp    prometheus.Counter // bytes
	GroupErrors prometheus.Counter
	Rebalances  *prometheus.CounterVec

	Restores, snapshotsTaken   *prometheus.CounterVec
	SnapshotBytes, Quarantined prometheus.Counter
	StoresRemoved              prometheus.Counter
	OtherSettings              prometheus.Gauge // number of members of the group with other settings
	Times                      snapshotTimes

	all []prometheus.Collector
}

// New creates the metrics of a processor. They are not registered yet.
func New(t setup.Topics) *Set {
	const ns, sub = "tidemark", "processor"
	m := &Set{inputs: t.Inputs}
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
	m.dead = counter("dead_letters_total", "Records copied to the dead letters, by topic and reason, with the reason's code.", "topic", "reason", "code")
	for _, topic := range t.Inputs {
		for _, reason := range append(slices.Clone(events.LetterReasons), setup.ReasonSkipped) {
			m.dead.WithLabelValues(topic, string(reason), codes.OfLetter(string(reason)))
		}
	}
	phases := histogram("phase_seconds", "Time of each phase of a batch.", prometheus.ExponentialBuckets(16e-6, 4, 10), "phase")
	for p := range m.phases {
		m.phases[p] = phases.WithLabelValues(PhaseNames[p])
	}
	sizes := prometheus.ExponentialBuckets(1, 4, 10)
	m.batches = histogram("batch_records", "Records folded between two drains.", sizes).WithLabelValues()
	m.deltas = histogram("batch_deltas", "Output records of one drain.", sizes).WithLabelValues()
	m.badges = histogram("event_to_badge_seconds", "From the timestamp of the oldest record of a batch to the acknowledgement of all that it "+
		"changed: how long a badge waits, its way to Redis and to sockets left out.",
		[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}).WithLabelValues()
	m.Retried = counter("publish_retries_total", "Output records produced again after the client gave up.").WithLabelValues()
	m.Refused = counter("publish_refused_total", "Publishing that failed for good at a record of this topic: a missing right, a record too large.", "topic")
	for _, topic := range []string{t.Unread, t.Channels, t.Receipts, t.DeadLetters} {
		m.Refused.WithLabelValues(topic)
	}
	m.CaughtUp = counter("catch_up_bytes_total", "Bytes of record batches, as they are on the wire, that the node fetched without the client's consumer, because a partition was far behind.").WithLabelValues()
	m.Fences = counter("fences_total", "Partitions of output topics that were made to refuse a former owner that had not left cleanly.").WithLabelValues()
	m.GroupErrors = counter("group_errors_total", "Ends of a group session by an error.").WithLabelValues()
	m.Rebalances = counter("partitions_moved_total", "Partitions assigned, revoked and lost.", "how")
	begin(m.Rebalances, "assigned", "revoked", "lost")
	m.Restores = counter("restores_total", "Partitions restored from a snapshot, or that it failed.", "outcome")
	begin(m.Restores, "done", "failed")
	m.snapshotsTaken = counter("snapshots_total", "Snapshots taken, refused because another owner has taken one, failed, or left out "+
		"because nothing has changed.", "outcome")
	begin(m.snapshotsTaken, "done", "unchanged", "refused", "failed")
	m.SnapshotBytes = counter("snapshot_uploaded_bytes_total", "Bytes uploaded for snapshots.").WithLabelValues()
	m.Quarantined = counter("stores_quarantined_total", "Corrupt stores that were moved aside.").WithLabelValues()
	m.StoresRemoved = counter("stores_removed_total", "Stores of partitions that had moved away, removed after the store retention.").WithLabelValues()
	m.OtherSettings = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: "members_with_other_settings",
		Help: "Members of the group that fold with other settings than this one."})
	m.all = append(m.all, m.OtherSettings)
	return m
}

// begin creates series with the value 0. An alert on an increase would not see the first event of a
// series that starts with that event.
func begin(c *prometheus.CounterVec, values ...string) {
	for _, v := range values {
		c.WithLabelValues(v)
	}
}

// Restored counts a restore.
func (m *Set) Restored(outcome string) { m.Restores.WithLabelValues(outcome).Inc() }

// Snapshots counts a snapshot.
func (m *Set) Snapshots(outcome string) { m.snapshotsTaken.WithLabelValues(outcome).Inc() }

// Register adds everything to reg, or nothing.
func (m *Set) Register(reg prometheus.Registerer, extra ...prometheus.Collector) (unregister func(), err error) {
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

// Worker collects one partition's counts, and adds them to the shared counters once per batch,
// because those are contended.
type Worker struct {
	*Set
	events [events.NumKinds][projections.NumOutcomes]uint32
}

// Folded counts an event.
func (m *Worker) Folded(k events.Kind, o projections.Outcome, clockReplaced bool) {
	m.events[k][o]++
	if clockReplaced {
		m.clock[kindInput(k)].Inc()
	}
}

// Flush adds the collected counts to the shared counters.
func (m *Worker) Flush() {
	for k := range m.events {
		for o, n := range m.events[k] {
			if n > 0 {
				m.Set.events[k][o].Add(float64(n))
				m.events[k][o] = 0
			}
		}
	}
}

// DeadLetter counts a bad record.
func (m *Worker) DeadLetter(in events.Input, reason events.Reason) {
	m.dead.WithLabelValues(m.inputs[in], string(reason), codes.OfLetter(string(reason))).Inc()
}

// Batch counts what was folded and drained since the last drain.
func (m *Worker) Batch(records, deltas int) {
	m.batches.Observe(float64(records))
	m.deltas.Observe(float64(deltas))
}

// ToBadge observes the time from the oldest record of a batch to its acknowledgement, with the id
// of a trace that is in it; empty: none.
func (m *Set) ToBadge(d time.Duration, traceID string) {
	trace.Observe(m.badges, d.Seconds(), traceID)
}

// Phase adds the time that a phase has taken.
func (m *Set) Phase(p phase, d time.Duration) { m.phases[p].Observe(d.Seconds()) }

// snapshotTimes remembers when each partition had its last snapshot, for the metric.
type snapshotTimes struct {
	mu sync.Mutex
	at map[int32]time.Time
}

func (s *snapshotTimes) Set(partition int32, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[int32]time.Time{}
	}
	s.at[partition] = now
}

func (s *snapshotTimes) Get(partition int32) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[partition]
	return at, ok
}
