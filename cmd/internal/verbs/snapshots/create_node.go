package snapshots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/snapshot"
)

// ofNode makes a running node take the snapshots, and shows their progress as if they were taken
// here.
func (c *createCmd) ofNode(a *verbs.App) error {
	if a.Given["snapshots"] || a.Given["data-dir"] {
		return verbs.Usagef("with --node, the node uses its own data directory and its own place of snapshots: leave out --data-dir and --snapshots")
	}
	var errs []error
	var report snapshot.Report
	end := func() {}
	at, began := int32(-1), time.Now()
	err := c.Admin().Snapshots(a.Ctx, admin.SnapshotsRequest{Partitions: c.Partition, Full: c.Full}, func(e admin.Event) error {
		if e.Progress != nil {
			if e.Partition != at {
				at = e.Partition
				report, end = Progress(a, at)
			}
			report(*e.Progress)
			return nil
		}
		end()
		took := time.Since(began)
		at, began, end = -1, time.Now(), func() {}
		switch {
		case e.Error != "":
			errs = append(errs, fmt.Errorf("partition %d: %s", e.Partition, e.Error))
			return nil
		case e.Taken == nil || e.Taken.Manifest == nil && !e.Taken.Empty:
			return fmt.Errorf("%s did not report on the snapshot of partition %d: it runs another version", c.Node, e.Partition)
		}
		return c.print(a, e.Partition, e.Taken, took)
	})
	end()
	if errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(append(errs, err)...)
}
