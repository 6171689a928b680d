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
	PathLogLevel   = "/admin/log-level"  // GET: obs.LevelState; PUT LogLevelRequest: obs.LevelState
)

// About describes a node.
type About struct {
	DataDir    string      `json:"data_dir"`            // absolute
	Snapshots  string      `json:"snapshots,omitempty"` // their place; empty: nowhere
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
	// Dir is the directory of the copy, relative to the node's data directory and with slashes:
	// verify-X/copies/partition-N. All but its last element exists; the caller removes the copy.
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

// Event is a step of one partition while snapshots are taken: progress, and at the end a snapshot
// or an error.
type Event struct {
	Partition int32              `json:"partition"`
	Progress  *snapshot.Progress `json:"progress,omitempty"`
	Taken     *Taken             `json:"taken,omitempty"`
	Error     string             `json:"error,omitempty"`
	End       bool               `json:"end,omitempty"` // of the answer: all partitions are done
}

// Taken is a current snapshot.
type Taken struct {
	Manifest  *snapshot.Manifest `json:"manifest,omitempty"`
	Stats     snapshot.Stats     `json:"stats"`
	Unchanged bool               `json:"unchanged,omitempty"` // a snapshot of this position existed already
	Empty     bool               `json:"empty,omitempty"`     // its store is still empty, so no snapshot is taken
}

// UsualLevel is the name of the level that --log-level chose.
const UsualLevel = "usual"

// LogLevelRequest changes the lowest level of log lines.
type LogLevelRequest struct {
	Level string `json:"level"`         // debug, info, warn, error or UsualLevel
	For   string `json:"for,omitempty"` // a duration, such as 10m, after which the usual level applies again; empty: until the node ends
}
