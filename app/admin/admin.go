package admin

import (
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Paths of the calls.
const (
	PathPartitions = "/admin/partitions" // GET: About
	PathCheckpoint = "/admin/checkpoint" // POST CheckpointRequest: CheckpointAnswer
	PathSnapshots  = "/admin/snapshots"  // POST SnapshotsRequest: Events, one JSON object a line, the last with End
	PathAt         = "/admin/at"         // POST, below it: the query API, as of the moment in the header travel.HeaderAt
	PathDiff       = "/admin/diff"       // POST travel.Question: travel.Diff
)

// About describes a node.
type About struct {
	DataDir    string      `json:"data_dir"`            // absolute
	Snapshots  string      `json:"snapshots,omitempty"` // where they are; empty: nowhere
	Partitions []Partition `json:"partitions"`          // that it owns, in order
}

// Partition describes a partition that a node owns.
type Partition struct {
	Partition int32                `json:"partition"`
	Live      bool                 `json:"live"`
	Status    string               `json:"status"` // as in /readyz
	Position  projections.Position `json:"position"`
}

// CheckpointRequest asks for a copy of the store of a partition.
type CheckpointRequest struct {
	Partition int32 `json:"partition"`
	// Dir is where, relative to the node's data directory and written with slashes:
	// verify-X/copies/partition-N. All but its last element is there; the caller removes it.
	Dir string `json:"dir"`
}

// CheckpointAnswer has the place of the copy.
type CheckpointAnswer struct {
	Dir string `json:"dir"` // absolute
}

// SnapshotsRequest asks for snapshots.
type SnapshotsRequest struct {
	Partitions []int32 `json:"partitions"` // null: all that are owned
	Full       bool    `json:"full"`       // as in snapshot.CreateOptions
}

// Event is what happens to one partition while snapshots are taken: progress, and at its end a
// snapshot or an error.
type Event struct {
	Partition int32              `json:"partition"`
	Progress  *snapshot.Progress `json:"progress,omitempty"`
	Taken     *Taken             `json:"taken,omitempty"`
	Error     string             `json:"error,omitempty"`
	End       bool               `json:"end,omitempty"` // of the answer: all partitions had their turn
}

// Taken is a snapshot that is there now.
type Taken struct {
	Manifest  *snapshot.Manifest `json:"manifest,omitempty"`
	Stats     snapshot.Stats     `json:"stats"`
	Unchanged bool               `json:"unchanged,omitempty"` // it was there before, of just this position
	Empty     bool               `json:"empty,omitempty"`     // nothing was ever folded there, and no snapshot is taken
}
