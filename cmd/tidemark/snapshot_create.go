package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

type snapshotCreateCmd struct {
	jsonFlag
	bucketFlags
	DataDir string `default:"tidemark-data" placeholder:"DIR" help:"Where the stores are (${default})."`
	Full    bool   `help:"Upload all files, also those that are there already: repairs a snapshot with damaged files."`
}

func (snapshotCreateCmd) Help() string {
	return `
Takes a snapshot of each store of a data directory whose node is stopped, and uploads what the bucket does not have. A
running node does this by itself, every --snapshot-every of ` + "`tidemark run`" + ` and when it stops. A snapshot that is older than
the current one, or that neither is older nor newer, is refused.

Example:

    tidemark snapshot create --data-dir /var/lib/tidemark --snapshots s3://backups/tidemark
    tidemark snapshot create --data-dir /var/lib/tidemark --snapshots file:///mnt/backups --partition 3 --full`
}

// createdInfo is a snapshot that was taken as JSON.
type createdInfo struct {
	snapshotInfo
	UploadedFiles int64   `json:"uploaded_files"`
	UploadedBytes int64   `json:"uploaded_bytes"`
	Seconds       float64 `json:"seconds"`
	Unchanged     bool    `json:"unchanged"`
}

// Run takes the snapshots one after the other.
func (c *snapshotCreateCmd) Run(a *app) error {
	stores, err := storesIn(c.DataDir)
	if err != nil {
		return fmt.Errorf("no data directory at %s: %w", c.DataDir, err)
	}
	numbers := slices.Sorted(maps.Keys(stores))
	if len(c.Partition) > 0 {
		numbers = c.Partition
	}
	if len(numbers) == 0 {
		return fmt.Errorf("there are no stores in %s", c.DataDir)
	}
	r, err := c.open(snapshot.Options{})
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range numbers {
		dir, ok := stores[n]
		if !ok {
			return fmt.Errorf("there is no store of partition %d in %s", n, c.DataDir)
		}
		if err := c.create(a, r, n, dir); err != nil {
			errs = append(errs, err)
		}
		if a.ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func (c *snapshotCreateCmd) create(a *app, r *snapshot.Repository, n int32, dir string) (err error) {
	store, err := projections.OpenStopped(dir, nil)
	if isInUse(err) {
		return fmt.Errorf("%s is in use: stop the node, or let it take the snapshot itself with --snapshots and --snapshot-every (%w)", dir, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	began := time.Now()
	report, end := a.progress(n)
	m, s, err := r.Create(a.ctx, store, dir+".snapshot", snapshot.CreateOptions{Full: c.Full, Report: report})
	end()
	unchanged := errors.Is(err, snapshot.ErrUnchanged)
	if errors.Is(err, projections.ErrEmpty) {
		fmt.Fprintf(a.stderr, "partition %d: nothing was folded yet, so there is nothing to take a snapshot of\n", n)
		return nil
	}
	if err != nil && !unchanged {
		return err
	}
	if c.JSON {
		return printJSON(a.stdout, createdInfo{newSnapshotInfo(n, m, true, nil), s.UploadedFiles, s.UploadedBytes, time.Since(began).Seconds(), unchanged})
	}
	if unchanged {
		_, err = fmt.Fprintf(a.stdout, "partition %d: the snapshot %s is of this very position; --full uploads it again\n", n, shortName(m))
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "partition %d: snapshot %s, %s, of which %s were uploaded in %s\n", n, shortName(m), config.Bytes(s.Bytes),
		config.Bytes(s.UploadedBytes), time.Since(began).Round(time.Millisecond))
	return err
}
