package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/internal/admin"
	"github.com/tidemark/tidemark/snapshot"
)

// ofNode has a running node take the snapshots, and tells how it goes as if they were taken here.
func (c *snapshotCreateCmd) ofNode(a *app) error {
	if a.given["snapshots"] || a.given["data-dir"] {
		return usagef("with --node it is the node that knows its data directory and where its snapshots are: leave out --data-dir and --snapshots")
	}
	var errs []error
	var report snapshot.Report
	end := func() {}
	at, began := int32(-1), time.Now()
	err := c.admin().Snapshots(a.ctx, admin.SnapshotsRequest{Partitions: c.Partition, Full: c.Full}, func(e admin.Event) error {
		if e.Progress != nil {
			if e.Partition != at {
				at = e.Partition
				report, end = a.progress(at)
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
			return fmt.Errorf("%s says nothing of the snapshot of partition %d: it is of another version", c.Node, e.Partition)
		}
		return c.print(a, e.Partition, e.Taken, took)
	})
	end()
	if errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(append(errs, err)...)
}
