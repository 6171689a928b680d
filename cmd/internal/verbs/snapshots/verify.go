package snapshots

import (
	"errors"
	"fmt"
	"os"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/snapshot"
)

type verifyCmd struct {
	verbs.JSONFlag
	verbs.BucketFlags
	All bool   `help:"Check all snapshots, not only the current ones."`
	Tmp string `placeholder:"DIR" help:"Directory with room for the largest snapshot; by default the system's temporary directory."`
}

func (verifyCmd) Help() string {
	return `
Downloads each snapshot and checks what a restore would check: the size and hash of each file, that the store opens and
agrees with the manifest, and the digest of all its records. The exit code is 3 if one is
damaged. ` + "`tidemark snapshot create --full`" + ` repairs the current one; a node skips damaged ones.

Example:

    tidemark snapshot verify --snapshots s3://backups/tidemark
    tidemark snapshot verify --snapshots file:///mnt/backups --partition 3 --all --json`
}

// Run verifies one snapshot after the other.
func (c *verifyCmd) Run(a *verbs.App) error {
	r, err := c.Open(snapshot.Options{})
	if err != nil {
		return err
	}
	bad := 0
	err = c.Each(a, r, func(n int32) error {
		list, err := r.List(a.Ctx, n)
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
		return verbs.ErrDifferences
	}
	return err
}

// verify checks one. An error is not the snapshot's fault.
func (c *verifyCmd) verify(a *verbs.App, r *snapshot.Repository, e *snapshot.Entry) (ok bool, err error) {
	found := e.Err
	if found == nil {
		dir, err := os.MkdirTemp(c.Tmp, "tidemark-verify-")
		if err != nil {
			return false, fmt.Errorf("no directory to verify in: %w", err)
		}
		report, end := Progress(a, e.Partition)
		found = r.Download(a.Ctx, e.Manifest, dir, report)
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
		return found == nil, term.PrintJSON(a.Stdout, NewInfo(e.Partition, e.Manifest, e.Current, found))
	}
	switch {
	case found == nil:
		_, err = fmt.Fprintf(a.Stdout, "partition %d: snapshot %s is in order: %s, digest %s\n", e.Partition, ShortName(e.Manifest),
			config.Bytes(e.Manifest.Bytes()), e.Manifest.Digest)
	case e.Manifest == nil:
		_, err = fmt.Fprintf(a.Stdout, "partition %d: %v\n", e.Partition, term.Printable(fmt.Sprint(found)))
	default:
		_, err = fmt.Fprintf(a.Stdout, "partition %d: snapshot %s: %v\n", e.Partition, ShortName(e.Manifest), term.Printable(fmt.Sprint(found)))
	}
	return found == nil, err
}
