package ui

import (
	"context"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/tidemark/tidemark/processor"
)

const (
	sampleEvery = 10 * time.Second
	sampleCount = 360 // an hour
)

// Sample has the values of the charts at one moment. Events, Deltas and Dead count from the start
// of the node.
type Sample struct {
	At     int64   `json:"at"` // Unix milliseconds
	Events float64 `json:"events"`
	Deltas float64 `json:"deltas"`
	Dead   float64 `json:"dead"`
	Lag    int64   `json:"lag"`
	// Publish is the median since the previous sample, in seconds; null: nothing was published.
	Publish *float64 `json:"publish"`
}

// series has the samples of the last hour.
type series struct {
	mu      sync.Mutex
	samples []Sample  // oldest first
	publish histogram // as of the last sample
}

// sample takes samples until ctx is done.
func (u *UI) sample(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		u.takeSample()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (u *UI) takeSample() {
	families, err := u.cfg.Metrics.Gather()
	if err != nil {
		u.cfg.Logger.Warn("some metrics could not be gathered for the page's charts", "err", err)
	}
	values, histograms := digestMetrics(families)
	u.series.add(Sample{
		At: time.Now().UnixMilli(), Events: values["processor_events_total"], Deltas: histograms["processor_batch_deltas"][""].Sum,
		Dead: values["processor_dead_letters_total"], Lag: lagOf(u.cfg.Node.Status()),
	}, histograms["processor_phase_seconds"]["publish"])
}

func lagOf(list []processor.PartitionStatus) (n int64) {
	for _, s := range list {
		n += s.Behind()
	}
	return n
}

// add appends a sample and drops those older than an hour.
func (s *series) add(x Sample, publish histogram) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := median(publish, s.publish); !math.IsNaN(m) {
		x.Publish = &m
	}
	s.publish = publish
	if s.samples = append(s.samples, x); len(s.samples) > sampleCount {
		s.samples = append([]Sample{}, s.samples[len(s.samples)-sampleCount:]...)
	}
}

// median returns the median of the observations between two states of a histogram, interpolated
// within its bucket; NaN if there are none.
func median(now, before histogram) float64 {
	n := float64(now.Count) - float64(before.Count)
	if n <= 0 {
		return math.NaN()
	}
	low, below := 0., 0.
	for i, b := range now.Buckets {
		upTo := b[1]
		if i < len(before.Buckets) {
			upTo -= before.Buckets[i][1]
		}
		if upTo >= n/2 {
			return low + (b[0]-low)*(n/2-below)/max(1, upTo-below)
		}
		low, below = b[0], upTo
	}
	return low
}

// lastHour answers with the samples.
func (u *UI) lastHour(w http.ResponseWriter, _ *http.Request) {
	u.series.mu.Lock()
	defer u.series.mu.Unlock()
	reply(w, map[string]any{"every": sampleEvery.Seconds(), "samples": append([]Sample{}, u.series.samples...)})
}
