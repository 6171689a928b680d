package snapshots

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/snapshot"
)

// Cmd is `tidemark snapshot`.
type Cmd struct {
	Create  createCmd  `cmd:"" help:"Take snapshots now, of a running node or of the stores of a stopped one."`
	List    listCmd    `cmd:"" help:"List the snapshots."`
	Verify  verifyCmd  `cmd:"" help:"Download snapshots, check everything in them, and keep nothing."`
	Restore restoreCmd `cmd:"" help:"Restore snapshots to a data directory."`
	Prune   pruneCmd   `cmd:"" help:"Remove old snapshots, and files that no snapshot names."`
}

// Help explains snapshots, with an example.
func (Cmd) Help() string {
	return `
A snapshot is a copy of a partition's store in a directory or in S3. With it a node that has lost its store need not fold the
topics from their start, and can start even if the topics no longer have their first records. A node with --snapshots takes
snapshots by itself.

Example:

    tidemark snapshot list --snapshots s3://backups/tidemark`
}

// Info is a snapshot as JSON.
type Info struct {
	Partition  int32      `json:"partition"`
	Name       string     `json:"name,omitempty"`
	Current    bool       `json:"current"`
	Position   []int64    `json:"position,omitempty"`
	Digest     string     `json:"digest,omitempty"`
	Cluster    string     `json:"cluster,omitempty"`
	Partitions int32      `json:"partitions,omitempty"`
	WrittenAt  *time.Time `json:"written_at,omitempty"`
	Files      int        `json:"files"`
	Bytes      int64      `json:"bytes"`
	Error      string     `json:"error,omitempty"`
}

// NewInfo describes a snapshot. err is the reason why its manifest m cannot be read, or nil.
func NewInfo(partition int32, m *snapshot.Manifest, current bool, err error) Info {
	i := Info{Partition: partition, Current: current}
	if m != nil {
		v := m.Position()
		i.Name, i.Position, i.Digest, i.Cluster, i.Partitions = ShortName(m), v[:], m.Digest, m.Cluster, m.Partitions
		i.WrittenAt, i.Files, i.Bytes = &m.WrittenAt, len(m.Files), m.Bytes()
	}
	if err != nil {
		i.Error = err.Error()
	}
	return i
}

// ShortName is the position of a snapshot in the form that a person types.
func ShortName(m *snapshot.Manifest) string {
	v := m.Position()
	return fmt.Sprintf("%d-%d-%d", v[0], v[1], v[2])
}
