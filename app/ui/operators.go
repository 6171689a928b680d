package ui

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// Node is the page's interface to the processor of this process.
type Node interface {
	Partitions() int32
	Status() []processor.PartitionStatus
	Standbys() []processor.PartitionStatus
	Live(p int32) (*projections.Partition, error)
	Owner(ctx context.Context, p int32) (url string, err error)
}

// Snapshot is the newest snapshot of a partition.
type Snapshot struct {
	Partition int32                   `json:"partition"`
	At        time.Time               `json:"at"`
	Position  [events.NumInputs]int64 `json:"position"`
	Digest    string                  `json:"digest"`
	Bytes     int64                   `json:"bytes"`
	Count     int                     `json:"count"` // the number of snapshots of the partition
}

// partition describes one partition.
type partition struct {
	Partition int32   `json:"partition"`
	State     string  `json:"state"` // of processor.State, or "elsewhere"
	Here      bool    `json:"here"`
	Owner     string  `json:"owner"`
	Position  []int64 `json:"position"`
	Ends      []int64 `json:"ends"`
	Lag       int64   `json:"lag"`
	Progress  float64 `json:"progress"`
	ETA       float64 `json:"eta_seconds"`
	Error     string  `json:"error,omitempty"`
	// Digest is the digest of the store, and Stored its position.
	Digest string  `json:"digest"`
	Stored []int64 `json:"stored"`
}

// histogram is one of Prometheus, its buckets cumulative.
type histogram struct {
	Count   uint64       `json:"count"`
	Sum     float64      `json:"sum"`
	Buckets [][2]float64 `json:"buckets"` // upper bound, count up to it
}

// ownerTimeout bounds how long an overview waits for the group's metadata.
const ownerTimeout = time.Second

// operators answers with everything as of now. The page requests it repeatedly and computes the
// rates.
func (u *UI) operators(w http.ResponseWriter, r *http.Request) {
	families, err := u.cfg.Metrics.Gather()
	if err != nil {
		u.cfg.Logger.WarnContext(r.Context(), "some metrics could not be gathered for the page", "err", err)
	}
	ready, lines := u.cfg.Ready()
	answer := struct {
		At             int64                           `json:"at"`
		Ready          bool                            `json:"ready"`
		Lines          []string                        `json:"lines"`
		Partitions     []partition                     `json:"partitions"`
		Values         map[string]float64              `json:"values"`
		Histograms     map[string]map[string]histogram `json:"histograms"`
		Snapshots      []Snapshot                      `json:"snapshots"` // null: none are kept
		SnapshotsError string                          `json:"snapshots_error,omitempty"`
	}{At: time.Now().UnixMilli(), Ready: ready, Lines: lines, Partitions: u.partitions(r.Context())}
	answer.Values, answer.Histograms = digestMetrics(families)
	if u.cfg.Snapshots != nil {
		if answer.Snapshots, err = u.cfg.Snapshots(r.Context()); err != nil {
			answer.SnapshotsError = err.Error()
		}
	}
	reply(w, answer)
}

// cluster answers with all nodes of the group.
func (u *UI) cluster(w http.ResponseWriter, r *http.Request) {
	if u.cfg.Cluster == nil {
		refuse(w, http.StatusNotFound, errors.New("this node does not know its group"))
		return
	}
	reply(w, u.cfg.Cluster(r.Context()))
}

// partitions lists those of the topics, whoever has them.
func (u *UI) partitions(ctx context.Context) []partition {
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	list := make([]partition, u.cfg.Node.Partitions())
	for i := range list {
		p := partition{Partition: int32(i), State: "elsewhere"}
		if owner, err := u.cfg.Node.Owner(ctx, p.Partition); err == nil {
			p.Owner = owner
		} else {
			p.State, p.Error = "unowned", err.Error()
		}
		list[i] = p
	}
	for _, s := range append(u.cfg.Node.Standbys(), u.cfg.Node.Status()...) {
		if int(s.Partition) >= len(list) {
			continue
		}
		p := &list[s.Partition]
		p.State, p.Here, p.Position, p.Ends = s.State.String(), true, s.Position[:], s.Ends[:]
		p.Progress, p.ETA, p.Lag, p.Error = s.Progress, s.ETA.Seconds(), s.Behind(), ""
		if s.Err != nil {
			p.Error = s.Err.Error()
		}
		u.addDigest(p)
	}
	return list
}

// addDigest adds the digest from the store of a live partition.
func (u *UI) addDigest(p *partition) {
	live, err := u.cfg.Node.Live(p.Partition)
	if err != nil {
		return // the state already explains why it is not live
	}
	live.RLock()
	defer live.RUnlock()
	digest, stored := live.Digest(), live.StoredPosition()
	p.Digest, p.Stored = hex.EncodeToString(digest[:]), stored[:]
}

// digestMetrics sums Tidemark's counters and gauges over their labels, under their names, and also
// by label value under name{value,…}. Histograms are kept by label value.
func digestMetrics(families []*dto.MetricFamily) (map[string]float64, map[string]map[string]histogram) {
	values, histograms := map[string]float64{}, map[string]map[string]histogram{}
	for _, f := range families {
		name, own := strings.CutPrefix(f.GetName(), "tidemark_")
		if !own {
			if !strings.HasPrefix(f.GetName(), "process_") && !strings.HasPrefix(f.GetName(), "go_memstats_heap_") {
				continue
			}
			name = f.GetName()
		}
		for _, m := range f.GetMetric() {
			labels := make([]string, len(m.GetLabel()))
			for i, l := range m.GetLabel() {
				labels[i] = l.GetValue()
			}
			key := strings.Join(labels, ",")
			var v float64
			switch {
			case m.GetHistogram() != nil:
				if histograms[name] == nil {
					histograms[name] = map[string]histogram{}
				}
				histograms[name][key] = histogramOf(m.GetHistogram())
				continue
			case m.GetCounter() != nil:
				v = m.GetCounter().GetValue()
			case m.GetGauge() != nil:
				v = m.GetGauge().GetValue()
			}
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue // JSON cannot hold it
			}
			values[name] += v
			if key != "" && v != 0 {
				values[fmt.Sprintf("%s{%s}", name, key)] = v
			}
		}
	}
	return values, histograms
}

func histogramOf(h *dto.Histogram) histogram {
	out := histogram{Count: h.GetSampleCount(), Sum: h.GetSampleSum(), Buckets: [][2]float64{}}
	for _, b := range h.GetBucket() {
		if !math.IsInf(b.GetUpperBound(), 0) {
			out.Buckets = append(out.Buckets, [2]float64{b.GetUpperBound(), float64(b.GetCumulativeCount())})
		}
	}
	return out
}
