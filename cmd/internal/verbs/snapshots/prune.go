package snapshots

import (
	"fmt"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/snapshot"
)

type pruneCmd struct {
	verbs.JSONFlag
	verbs.BucketFlags
	verbs.RetentionFlags
	verbs.YesFlag
	DryRun bool `help:"Print what would be removed, and remove nothing."`
}

func (pruneCmd) Help() string {
	return `
Removes all but the newest snapshots of each partition, and files that no snapshot names and that are older than the grace period,
for example of uploads that were interrupted. A node does this by itself after each snapshot. It removes no files while there is a
manifest that cannot be read.

Example:

    tidemark snapshot prune --snapshots s3://backups/tidemark --dry-run
    tidemark snapshot prune --snapshots file:///mnt/backups --snapshot-keep 7 --yes`
}

// Validate checks the numbers.
func (c *pruneCmd) Validate() error { return c.Check() }

// prunedInfo is the result of one partition as JSON.
type prunedInfo struct {
	Partition int32    `json:"partition"`
	Snapshots []string `json:"snapshots"`
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"`
	Kept      int      `json:"kept"`
	DryRun    bool     `json:"dry_run"`
}

// Run prunes one partition after the other.
func (c *pruneCmd) Run(a *verbs.App) error {
	if !c.DryRun {
		if err := c.Confirm(a, fmt.Sprintf("removes from %s all but the newest %s of each partition", c.Snapshots, term.Plural(c.SnapshotKeep, "snapshot"))); err != nil {
			return err
		}
	}
	r, err := c.Open(snapshot.Options{Keep: c.SnapshotKeep, Grace: c.SnapshotGrace})
	if err != nil {
		return err
	}
	return c.Each(a, r, func(n int32) error {
		p, err := r.Prune(a.Ctx, n, nil, c.DryRun)
		if err != nil {
			return err
		}
		if c.JSON {
			return term.PrintJSON(a.Stdout, prunedInfo{n, append([]string{}, p.Snapshots...), p.Files, p.Bytes, p.Kept, c.DryRun})
		}
		verb := "removed"
		if c.DryRun {
			verb = "would remove"
		}
		_, err = fmt.Fprintf(a.Stdout, "partition %d: %s %s and %s (%s), keeping %s\n", n, verb, term.Plural(len(p.Snapshots), "snapshot"),
			term.Plural(p.Files, "file"), config.Bytes(p.Bytes), term.Plural(p.Kept, "snapshot"))
		return err
	})
}
