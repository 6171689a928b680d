package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/snapshot"
)

type snapshotVerifyCmd struct {
	jsonFlag
	bucketFlags
	All bool   `help:"All snapshots and not only the current ones."`
	Tmp string `placeholder:"DIR" help:"Where there is room for the largest of them; the system's directory for temporary files if not given."`
}

func (snapshotVerifyCmd) Help() string {
	return `
Downloads each snapshot and checks what a restore would check: the size and hash of each file, that the store opens and is
what the manifest says, and the digest of all its records. Ends with 3 if one is damaged; ` + "`tidemark snapshot create --full`" + `
repairs the current one, and a node passes over those that are damaged.

Example:

    tidemark snapshot verify --snapshots s3://backups/tidemark
    tidemark snapshot verify --snapshots file:///mnt/backups --partition 3 --all --json`
}

// Run verifies one snapshot after the other.
func (c *snapshotVerifyCmd) Run(a *app) error {
	r, err := c.open(snapshot.Options{})
	if err != nil {
		return err
	}
	bad := 0
	err = c.each(a, r, func(n int32) error {
		list, err := r.List(a.ctx, n)
		if err != nil {
			return err
		}
		for i := range list {
			if i > 0 && !c.All && list[i].Err == nil {
				continue
			}
			ok, err := c.verify(a, r, &list[i])
			if err != nil {
				return err
			}
			if !ok {
				bad++
			}
		}
		return nil
	})
	if err == nil && bad > 0 {
		return errDifferences
	}
	return err
}

// verify checks one. An error is not the snapshot's fault.
func (c *snapshotVerifyCmd) verify(a *app, r *snapshot.Repository, e *snapshot.Entry) (ok bool, err error) {
	found := e.Err
	if found == nil {
		dir, err := os.MkdirTemp(c.Tmp, "tidemark-verify-")
		if err != nil {
			return false, fmt.Errorf("no room to verify in: %w", err)
		}
		report, end := a.progress(e.Partition)
		found = r.Download(a.ctx, e.Manifest, dir, report)
		end()
		if err := os.RemoveAll(dir); err != nil {
			return false, err
		}
		var damaged *snapshot.DamagedError
		if found != nil && !errors.As(found, &damaged) {
			return false, found
		}
	}
	if c.JSON {
		return found == nil, printJSON(a.stdout, newSnapshotInfo(e.Partition, e.Manifest, e.Current, found))
	}
	switch {
	case found == nil:
		_, err = fmt.Fprintf(a.stdout, "partition %d: snapshot %s is in order: %s, digest %s\n", e.Partition, shortName(e.Manifest),
			config.Bytes(e.Manifest.Bytes()), e.Manifest.Digest)
	case e.Manifest == nil:
		_, err = fmt.Fprintf(a.stdout, "partition %d: %v\n", e.Partition, found)
	default:
		_, err = fmt.Fprintf(a.stdout, "partition %d: snapshot %s: %v\n", e.Partition, shortName(e.Manifest), found)
	}
	return found == nil, err
}
