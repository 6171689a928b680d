package processor

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// collector reads the gauges of the partitions and Pebble's own counters at each scrape, so that
// the gauges of a partition disappear when it moves away.
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
	storeEntries   = gauge("store_entries", "Channels, pairs and users that a partition holds, and those that are in the store only.", "partition", "what")
	hotBytes       = gauge("hot_bytes", "Memory of the hot state.", "partition")
	loadedTotal    = gauge("channels_loaded_total", "Times that a cold channel came back into memory for an event, since the store was opened.", "partition")
	coldReads      = gauge("cold_reads_total", "Times that queries read cold channels from the store, since it was opened.", "partition")
	watcherGauge   = gauge("watchers", "Watches of users.", "partition")
	waiterGauge    = gauge("waiting_queries", "Queries that wait for a record to be folded.", "partition")
	standbyLag     = gauge("standby_lag_records", "Records between the position of a standby and the end of the log.", "topic", "partition")
	snapshotAge    = gauge("snapshot_age_seconds", "Time since this process found the snapshot of a partition up to date.", "partition")
	snapshotEvery  = gauge("snapshot_interval_seconds", "Time between two snapshots of a partition (--snapshot-every); absent: none are taken.")
	storeBytes     = gauge("store_bytes", "Bytes of a partition's store on disk.", "partition")
	levelBytes     = gauge("store_level_bytes", "Bytes of the tables of a store, by Pebble's level.", "partition", "level")
	sublevels      = gauge("store_l0_sublevels", "Sublevels of a store's level 0. Pebble stops writes from 32 on.", "partition")
	readAmp        = gauge("store_read_amplification", "Tables of a store that one read may have to look at.", "partition")
	debtBytes      = gauge("store_compaction_debt_bytes", "Bytes that compactions of a store have still to write.", "partition")
	compactions    = gauge("store_compactions_total", "Compactions of a store since it was opened.", "partition")
	stalls         = gauge("store_write_stalls_total", "Times that Pebble made writes of a store wait, since it was opened.", "partition")
	readyGauge     = gauge("ready", "1 while the member is in its group and all of its partitions are live.")
)

var gauges = []*prometheus.Desc{partitionState, positionGauge, lagRecords, lagSeconds, openProgress, openETA, diskFull, queuedBytes,
	waitingReads, storeEntries, hotBytes, loadedTotal, coldReads, watcherGauge, waiterGauge, standbyLag, snapshotAge, snapshotEvery,
	storeBytes, levelBytes, sublevels, readAmp, debtBytes, compactions, stalls, readyGauge}

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
		kind := prometheus.GaugeValue
		if d == compactions || d == stalls || d == loadedTotal || d == coldReads {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for _, w := range c.p.owned() {
		c.attempt(func() { c.partition(send, w) })
	}
	c.attempt(func() {
		for _, s := range c.p.Standbys() {
			for i, topic := range c.p.cfg.Topics.Inputs {
				send(standbyLag, float64(s.Lag[i]), topic, strconv.Itoa(int(s.Partition)))
			}
		}
		ready, _ := c.p.Ready()
		send(readyGauge, boolean(ready))
		if c.p.cfg.Snapshots != nil && c.p.cfg.SnapshotEvery > 0 {
			send(snapshotEvery, c.p.cfg.SnapshotEvery.Seconds())
		}
	})
}

// attempt runs f and recovers from a panic, which would end the process in the registry's
// goroutine. The scrape then lacks these values.
func (c collector) attempt(f func()) {
	if err := guard.Do("the reading of gauges", f); err != nil {
		c.p.log.Error("some metrics are missing", guard.Attrs(err)...)
	}
}

func (c collector) partition(send func(*prometheus.Desc, float64, ...string), w *steps.Worker) {
	now := c.p.cfg.Now()
	number := strconv.Itoa(int(w.Number))
	s := w.Status()
	for _, word := range life.Words() {
		send(partitionState, boolean(s.State.String() == word), number, word)
	}
	for i, topic := range c.p.cfg.Topics.Inputs {
		send(positionGauge, float64(s.Position[i]), topic, number)
		send(lagRecords, float64(s.Lag[i]), topic, number)
		send(lagSeconds, w.LagSeconds(events.Input(i), s.Lag[i], now), topic, number)
	}
	send(openProgress, s.Progress, number)
	send(openETA, s.ETA.Seconds(), number)
	send(diskFull, boolean(s.Full != nil), number)
	send(queuedBytes, float64(w.Inbox.Queued()), number)
	send(watcherGauge, float64(w.Hub.Watchers.Load()), number)
	send(waiterGauge, float64(w.Progress.Waiting.Load()), number)
	if at, ok := c.p.metrics.Times.Get(w.Number); ok {
		send(snapshotAge, now.Sub(at).Seconds(), number)
	}
	c.store(send, w, number)
}

func (c collector) store(send func(*prometheus.Desc, float64, ...string), w *steps.Worker, number string) {
	part := w.Live.Load()
	if part == nil {
		return
	}
	stats, disk, live := w.Stats(part)
	if !live {
		return // it was closed meanwhile
	}
	send(waitingReads, float64(stats.Waiting), number)
	send(storeEntries, float64(stats.Channels), number, "channels")
	send(storeEntries, float64(stats.Pairs), number, "pairs")
	send(storeEntries, float64(stats.Users), number, "users")
	send(storeEntries, float64(stats.ColdChannels), number, "cold_channels")
	send(storeEntries, float64(stats.ColdPairs), number, "cold_pairs")
	send(hotBytes, float64(stats.HotBytes), number)
	send(loadedTotal, float64(stats.Loaded), number)
	send(coldReads, float64(stats.ColdReads), number)
	send(storeBytes, float64(disk.Bytes), number)
	for level, bytes := range disk.Levels {
		send(levelBytes, float64(bytes), number, strconv.Itoa(level))
	}
	send(sublevels, float64(disk.L0Sublevels), number)
	send(readAmp, float64(disk.ReadAmp), number)
	send(debtBytes, float64(disk.Debt), number)
	send(compactions, float64(disk.Compactions), number)
	send(stalls, float64(disk.Stalls), number)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
