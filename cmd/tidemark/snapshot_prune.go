package main

import (
	"fmt"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/snapshot"
)

type snapshotPruneCmd struct {
	jsonFlag
	bucketFlags
	retentionFlags
	DryRun bool `help:"Say what would be removed, and remove nothing."`
}

func (snapshotPruneCmd) Help() string {
	return `
Removes all but the newest snapshots of each partition, and files that no snapshot names and that are older than the grace
period, for example of uploads that were interrupted. A node does this by itself after each snapshot. While there is a
manifest that cannot be read, files stay.

Example:

    tidemark snapshot prune --snapshots s3://backups/tidemark --dry-run
    tidemark snapshot prune --snapshots file:///mnt/backups --snapshot-keep 7`
}

// Validate checks the numbers.
func (c *snapshotPruneCmd) Validate() error { return c.check() }

// prunedInfo is what was removed of a partition as JSON.
type prunedInfo struct {
	Partition int32    `json:"partition"`
	Snapshots []string `json:"snapshots"`
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"`
	Kept      int      `json:"kept"`
	DryRun    bool     `json:"dry_run"`
}

// Run prunes one partition after the other.
func (c *snapshotPruneCmd) Run(a *app) error {
	r, err := c.open(snapshot.Options{Keep: c.SnapshotKeep, Grace: c.SnapshotGrace})
	if err != nil {
		return err
	}
	return c.each(a, r, func(n int32) error {
		p, err := r.Prune(a.ctx, n, nil, c.DryRun)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(a.stdout, prunedInfo{n, append([]string{}, p.Snapshots...), p.Files, p.Bytes, p.Kept, c.DryRun})
		}
		verb := "removed"
		if c.DryRun {
			verb = "would remove"
		}
		_, err = fmt.Fprintf(a.stdout, "partition %d: %s %s and %s (%s), keeping %s\n", n, verb, plural(len(p.Snapshots), "snapshot"),
			plural(p.Files, "file"), config.Bytes(p.Bytes), plural(p.Kept, "snapshot"))
		return err
	})
}
