package processor

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/events"
)

// collector reads the gauges of the partitions when they are asked for: a partition that moves away takes its gauges
// with it.
type collector struct{ p *Processor }

var (
	partitionState = gauge("partition_state", "1 for the state that a partition is in.", "partition", "state")
	positionGauge  = gauge("position", "Next offset to fold.", "topic", "partition")
	lagRecords     = gauge("lag_records", "Records between the position and the end of the log.", "topic", "partition")
	lagSeconds     = gauge("lag_seconds", "Age of the last folded record while there is a lag, else 0.", "topic", "partition")
	openProgress   = gauge("opening_progress", "Share of the records folded that a partition needs to be live.", "partition")
	openETA        = gauge("opening_eta_seconds", "Time until a partition is live, as it looks now.", "partition")
	diskFull       = gauge("disk_full", "1 while a partition does not fold because writes of its store wait for room.", "partition")
	queuedBytes    = gauge("queued_bytes", "Fetched records that wait to be folded.", "partition")
	waitingReads   = gauge("waiting_pairs", "Pairs of user and channel with reads that wait for what they name.", "partition")
	storeEntries   = gauge("store_entries", "Channels, pairs and users that a partition holds.", "partition", "what")
	hotBytes       = gauge("hot_bytes", "Memory of the hot state.", "partition")
	watcherGauge   = gauge("watchers", "Watches of users.", "partition")
	waiterGauge    = gauge("waiting_queries", "Queries that wait for a record to be folded.", "partition")
	standbyLag     = gauge("standby_lag_records", "Records between the position of a standby and the end of the log.", "topic", "partition")
	snapshotAge    = gauge("snapshot_age_seconds", "Time since this process found the snapshot of a partition up to date.", "partition")
	readyGauge     = gauge("ready", "1 while the member is in its group and all of its partitions are live.")
)

var gauges = []*prometheus.Desc{partitionState, positionGauge, lagRecords, lagSeconds, openProgress, openETA, diskFull, queuedBytes,
	waitingReads, storeEntries, hotBytes, watcherGauge, waiterGauge, standbyLag, snapshotAge, readyGauge}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("tidemark_processor_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range gauges {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	now := c.p.cfg.now()
	for _, w := range c.p.owned() {
		number := strconv.Itoa(int(w.number))
		s := w.status()
		for state, name := range stateNames {
			send(partitionState, boolean(s.State == State(state)), number, name)
		}
		for i, topic := range c.p.cfg.Topics.Inputs {
			send(positionGauge, float64(s.Position[i]), topic, number)
			send(lagRecords, float64(s.Lag[i]), topic, number)
			send(lagSeconds, w.lagSeconds(events.Input(i), s.Lag[i], now), topic, number)
		}
		send(openProgress, s.Progress, number)
		send(openETA, s.ETA.Seconds(), number)
		send(diskFull, boolean(s.Full != nil), number)
		send(queuedBytes, float64(w.inbox.queued()), number)
		send(watcherGauge, float64(w.hub.watchers.Load()), number)
		send(waiterGauge, float64(w.progress.waiting.Load()), number)
		if at, ok := c.p.metrics.snapshotTimes.get(w.number); ok {
			send(snapshotAge, now.Sub(at).Seconds(), number)
		}
		c.store(send, w, number)
	}
	for _, s := range c.p.Standbys() {
		for i, topic := range c.p.cfg.Topics.Inputs {
			send(standbyLag, float64(s.Lag[i]), topic, strconv.Itoa(int(s.Partition)))
		}
	}
	ready, _ := c.p.Ready()
	send(readyGauge, boolean(ready))
}

func (c collector) store(send func(*prometheus.Desc, float64, ...string), w *worker, number string) {
	part := w.live.Load()
	if part == nil {
		return
	}
	part.RLock()
	if w.live.Load() != part { // it was closed in between
		part.RUnlock()
		return
	}
	stats := part.Stats()
	part.RUnlock()
	send(waitingReads, float64(stats.Waiting), number)
	send(storeEntries, float64(stats.Channels), number, "channels")
	send(storeEntries, float64(stats.Pairs), number, "pairs")
	send(storeEntries, float64(stats.Users), number, "users")
	send(hotBytes, float64(stats.HotBytes), number)
}

// lagSeconds is how old the last folded record of an input is while there are more.
func (w *worker) lagSeconds(in events.Input, lag int64, now time.Time) float64 {
	if last := w.lastTime[in].Load(); lag > 0 && last > 0 {
		return max(now.Sub(time.UnixMilli(last)).Seconds(), 0)
	}
	return 0
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
