package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/snapshot"
)

type snapshotCmd struct {
	Create  snapshotCreateCmd  `cmd:"" help:"Take snapshots now: of a node that runs, or of the stores of one that is stopped."`
	List    snapshotListCmd    `cmd:"" help:"List the snapshots that there are."`
	Verify  snapshotVerifyCmd  `cmd:"" help:"Download snapshots, check all of them, and keep nothing."`
	Restore snapshotRestoreCmd `cmd:"" help:"Bring snapshots into a data directory."`
	Prune   snapshotPruneCmd   `cmd:"" help:"Remove old snapshots, and files that none names."`
}

func (snapshotCmd) Help() string {
	return `
A snapshot is a copy of a partition's store in a directory or in S3: with it a node that has lost its store need not fold
the topics from their start, or can start at all if they do not reach back. A node takes them by itself if it is given
--snapshots.

Example:

    tidemark snapshot list --snapshots s3://backups/tidemark`
}

// bucketFlags say where snapshots are, and of which partitions.
type bucketFlags struct {
	Snapshots string  `required:"" placeholder:"URL" help:"Where snapshots are: file:///dir or s3://bucket/prefix?endpoint=HOST:PORT&region=NAME; keys for S3 come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the machine's role."`
	Partition []int32 `placeholder:"N" help:"Only these partitions."`
}

// retentionFlags say what prune leaves.
type retentionFlags struct {
	SnapshotKeep  int           `default:"3" placeholder:"N" help:"How many snapshots of a partition are kept (${default})."`
	SnapshotGrace time.Duration `default:"24h" placeholder:"DURATION" help:"How old a file that no snapshot names must be before it is removed; a snapshot may take a quarter of it to upload (${default})."`
}

func (f retentionFlags) check() error {
	switch {
	case f.SnapshotKeep < 1:
		return fmt.Errorf("--snapshot-keep %d: at least 1 is kept", f.SnapshotKeep)
	case f.SnapshotGrace < time.Minute:
		return fmt.Errorf("--snapshot-grace %s: at least a minute: a quarter of it is all that a snapshot may take to upload", f.SnapshotGrace)
	}
	return nil
}

func (f bucketFlags) open(o snapshot.Options) (*snapshot.Repository, error) {
	b, err := snapshot.OpenBucket(f.Snapshots)
	if err != nil {
		return nil, usagef("--snapshots: %v", err)
	}
	return snapshot.New(b, o), nil
}

// each calls fn for the partitions that were asked for, or all that have something in the bucket. One that fails does
// not keep the others from their turn.
func (f bucketFlags) each(a *app, r *snapshot.Repository, fn func(partition int32) error) error {
	partitions, err := r.Partitions(a.ctx)
	if err != nil {
		return err
	}
	if len(f.Partition) > 0 {
		for _, n := range f.Partition {
			if !slices.Contains(partitions, n) {
				return fmt.Errorf("there is no snapshot of partition %d in %s", n, r)
			}
		}
		partitions = f.Partition
	}
	if len(partitions) == 0 {
		return fmt.Errorf("there are no snapshots in %s", r)
	}
	var errs []error
	for _, n := range partitions {
		if err := fn(n); err != nil {
			errs = append(errs, fmt.Errorf("partition %d: %w", n, err))
		}
		if a.ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// storesIn are the stores of a data directory, by partition.
func storesIn(dir string) (map[int32]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	stores := map[int32]string{}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "partition-")
		if n, err := strconv.ParseInt(number, 10, 32); ok && err == nil && n >= 0 && e.IsDir() {
			stores[int32(n)] = filepath.Join(dir, e.Name())
		}
	}
	return stores, nil
}

// storeDir is where the store of a partition is, or is to be.
func storeDir(dataDir string, partition int32) string { return processor.StoreDir(dataDir, partition) }

// snapshotInfo is a snapshot as JSON.
type snapshotInfo struct {
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

func newSnapshotInfo(partition int32, m *snapshot.Manifest, current bool, err error) snapshotInfo {
	i := snapshotInfo{Partition: partition, Current: current}
	if m != nil {
		v := m.Position()
		i.Name, i.Position, i.Digest, i.Cluster, i.Partitions = shortName(m), v[:], m.Digest, m.Cluster, m.Partitions
		i.WrittenAt, i.Files, i.Bytes = &m.WrittenAt, len(m.Files), m.Bytes()
	}
	if err != nil {
		i.Error = err.Error()
	}
	return i
}

// shortName is the position of a snapshot as a person types it.
func shortName(m *snapshot.Manifest) string {
	v := m.Position()
	return fmt.Sprintf("%d-%d-%d", v[0], v[1], v[2])
}

// progress tells on stderr how far a partition is: on a terminal in one line that changes, else now and then.
func (a *app) progress(partition int32) (report snapshot.Report, end func()) {
	terminal := isTerminal(a.stderr)
	every := 5 * time.Second
	if terminal {
		every = 200 * time.Millisecond
	}
	said, width := time.Now(), 0
	report = func(p snapshot.Progress) {
		if now := time.Now(); now.Sub(said) >= every {
			said = now
			line := progressLine(partition, p)
			if !terminal {
				fmt.Fprintln(a.stderr, line)
				return
			}
			fmt.Fprintf(a.stderr, "\r%-*s", width, line)
			width = len(line)
		}
	}
	return report, func() {
		if width > 0 {
			fmt.Fprintf(a.stderr, "\r%*s\r", width, "")
		}
	}
}

func progressLine(partition int32, p snapshot.Progress) string {
	line := fmt.Sprintf("partition %d: %s", partition, p.Phase)
	if p.Total > 0 {
		line += fmt.Sprintf(" %.1f%% of %s, %s/s, %s left", 100*float64(p.Done)/float64(p.Total), config.Bytes(p.Total),
			config.Bytes(p.Rate), p.ETA.Round(time.Second))
	}
	return line
}
