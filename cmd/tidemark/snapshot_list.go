package main

import (
	"fmt"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/snapshot"
)

type snapshotListCmd struct {
	jsonFlag
	bucketFlags
}

func (snapshotListCmd) Help() string {
	return `
Lists snapshots, of each partition the newest first. A name is the position in the three topics. Manifests that cannot be
read are listed with the reason; the files of a snapshot are not looked at: ` + "`tidemark snapshot verify`" + ` does that.

Example:

    tidemark snapshot list --snapshots s3://backups/tidemark
    tidemark snapshot list --snapshots file:///mnt/backups --partition 3 --json`
}

// Run prints a line for each snapshot.
func (c *snapshotListCmd) Run(a *app) error {
	r, err := c.open(snapshot.Options{})
	if err != nil {
		return err
	}
	t := newTable("PARTITION>", "SNAPSHOT", "TAKEN", "SIZE>", "FILES>", "DIGEST", "")
	err = c.each(a, r, func(n int32) error {
		list, err := r.List(a.ctx, n)
		if err != nil {
			return err
		}
		for i := range list {
			e := &list[i]
			switch m := e.Manifest; {
			case c.JSON:
				if err := printJSON(a.stdout, newSnapshotInfo(n, m, e.Current, e.Err)); err != nil {
					return err
				}
			case m == nil:
				t.row(n, "", "", "", "", "", e.Err)
			default:
				note := ""
				if e.Current {
					note = "current"
				}
				t.row(n, shortName(m), m.WrittenAt.Local().Format("2006-01-02 15:04:05"), config.Bytes(m.Bytes()), len(m.Files), m.Digest[:16], note)
			}
		}
		return nil
	})
	if !c.JSON && len(t.rows) > 0 {
		if perr := t.print(a.stdout); perr != nil {
			return fmt.Errorf("printing: %w", perr)
		}
	}
	return err
}
