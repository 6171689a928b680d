package cluster

import (
	"runtime/metrics"

	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// Report is a node's report about itself.
type Report struct {
	URL      string   `json:"url"`
	Instance string   `json:"instance_id,omitempty"`
	Version  string   `json:"version"`
	Roles    string   `json:"roles"`
	Page     bool     `json:"page"` // it serves the page
	Ready    bool     `json:"ready"`
	Lines    []string `json:"lines"` // the lines of /readyz
	// MemoryBytes is the memory that the Go runtime holds, and MemoryLimit its limit; 0: none is
	// set.
	MemoryBytes int64       `json:"memory_bytes"`
	MemoryLimit int64       `json:"memory_limit"`
	Partitions  []Partition `json:"partitions"`
}

// Partition is a partition on a node.
type Partition struct {
	Partition int32   `json:"partition"`
	State     string  `json:"state"` // of processor.State
	Standby   bool    `json:"standby"`
	Position  []int64 `json:"position"`
	Ends      []int64 `json:"ends"`
	Lag       int64   `json:"lag"`
	Progress  float64 `json:"progress"` // of an opening, from 0 to 1
	ETA       float64 `json:"eta_seconds"`
	Error     string  `json:"error,omitempty"`
	// HotBytes is the memory of the hot state, and DiskBytes the size of the store. Both are 0
	// while the partition is not live.
	HotBytes  int64 `json:"hot_bytes"`
	DiskBytes int64 `json:"disk_bytes"`
}

// Node is a node's own processor.
type Node interface {
	Status() []processor.PartitionStatus
	Standbys() []processor.PartitionStatus
	Stats(p int32) (projections.Stats, projections.Disk, bool)
}

// Partitions describes the partitions that a node owns, and those that it follows as a standby.
func Partitions(n Node) []Partition {
	list := []Partition{}
	for _, s := range n.Status() {
		p := describe(s)
		if stats, disk, live := n.Stats(s.Partition); live {
			p.HotBytes, p.DiskBytes = stats.HotBytes, int64(disk.Bytes) //nolint:gosec // a disk's bytes
		}
		list = append(list, p)
	}
	for _, s := range n.Standbys() {
		p := describe(s)
		p.Standby = true
		list = append(list, p)
	}
	return list
}

func describe(s processor.PartitionStatus) Partition {
	p := Partition{Partition: s.Partition, State: s.State.String(), Position: s.Position[:], Ends: s.Ends[:], Lag: s.Behind(),
		Progress: s.Progress, ETA: s.ETA.Seconds()}
	switch {
	case s.Err != nil:
		p.Error = s.Err.Error()
	case s.Full != nil:
		p.Error = s.Full.Error()
	}
	return p
}

// MemoryBytes is the memory that the Go runtime of this process holds.
func MemoryBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()) - int64(s[1].Value.Uint64()) //nolint:gosec // bytes of a machine's memory
}
