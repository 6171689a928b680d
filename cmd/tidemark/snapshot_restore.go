package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

type snapshotRestoreCmd struct {
	jsonFlag
	bucketFlags
	DataDir string `default:"tidemark-data" placeholder:"DIR" help:"Where the stores are to be (${default})."`
	At      string `placeholder:"M-R-D" help:"The snapshot of this name, and no other; else the newest that is good. Needs one --partition."`
	Replace bool   `help:"Put it in place of a store that is there, which is moved aside."`
}

func (snapshotRestoreCmd) Help() string {
	return `
Brings snapshots into a data directory whose node is stopped. A node with --snapshots does this by itself when it has no
store, or a corrupt one; this verb is for going back by hand. All of a snapshot is checked before it takes its place, and if
one is damaged the one before it is tried. The node folds on from there.

Example:

    tidemark snapshot restore --snapshots s3://backups/tidemark --data-dir /var/lib/tidemark
    tidemark snapshot restore --snapshots file:///mnt/backups --partition 3 --at 104000-99120-3000 --replace`
}

// Validate checks what belongs together.
func (c *snapshotRestoreCmd) Validate() error {
	if c.At != "" && len(c.Partition) != 1 {
		return errors.New("--at names a snapshot of one partition: say which with --partition")
	}
	return nil
}

// restoredInfo is a snapshot that was restored as JSON.
type restoredInfo struct {
	snapshotInfo
	Dir      string   `json:"dir"`
	Replaced string   `json:"replaced,omitempty"`
	Damaged  []string `json:"damaged,omitempty"` // why newer ones were passed over
	Seconds  float64  `json:"seconds"`
}

// Run restores one partition after the other.
func (c *snapshotRestoreCmd) Run(a *app) error {
	r, err := c.open(snapshot.Options{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.DataDir, 0o755); err != nil {
		return fmt.Errorf("the data directory: %w", err)
	}
	return c.each(a, r, func(n int32) error { return c.restore(a, r, n) })
}

func (c *snapshotRestoreCmd) restore(a *app, r *snapshot.Repository, n int32) (err error) {
	info := restoredInfo{Dir: storeDir(c.DataDir, n)}
	if _, serr := os.Stat(info.Dir); serr == nil {
		if !c.Replace {
			return fmt.Errorf("there is a store in %s already: --replace moves it aside", info.Dir)
		}
		held, err := projections.OpenStopped(info.Dir, nil)
		if isInUse(err) {
			return fmt.Errorf("%s is in use: stop the node first (%w)", info.Dir, err)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, held.Close()) }()
		info.Replaced = info.Dir + ".replaced-" + time.Now().UTC().Format("20060102T150405.000")
	}
	list, err := c.candidates(a, r, n)
	if err != nil {
		return err
	}
	began, temp := time.Now(), info.Dir+".restoring"
	for i := range list {
		e := &list[i]
		found := e.Err
		if found == nil {
			report, end := a.progress(n)
			found = r.Download(a.ctx, e.Manifest, temp, report)
			end()
		}
		var damaged *snapshot.DamagedError
		if found != nil && e.Err == nil && !errors.As(found, &damaged) {
			return errors.Join(found, os.RemoveAll(temp))
		}
		if found != nil {
			info.Damaged = append(info.Damaged, found.Error())
			fmt.Fprintf(a.stderr, "partition %d: %v\n", n, found)
			continue
		}
		if err := snapshot.Install(vfs.Default, temp, info.Dir, info.Replaced); err != nil {
			return err
		}
		info.snapshotInfo, info.Seconds = newSnapshotInfo(n, e.Manifest, e.Current, nil), time.Since(began).Seconds()
		return c.print(a, &info)
	}
	return errors.Join(fmt.Errorf("none of %d snapshots in %s is good; without one the node folds the topics from their start, if they reach back",
		len(list), r), os.RemoveAll(temp))
}

// candidates are the snapshots to try, in this order.
func (c *snapshotRestoreCmd) candidates(a *app, r *snapshot.Repository, n int32) ([]snapshot.Entry, error) {
	list, err := r.List(a.ctx, n)
	if err != nil || c.At == "" {
		return list, err
	}
	at, err := snapshot.ParseName(c.At)
	if err != nil {
		return nil, usagef("--at: %v", err)
	}
	for _, e := range list {
		if e.Manifest != nil && e.Manifest.Position() == at {
			return []snapshot.Entry{e}, nil
		}
	}
	return nil, fmt.Errorf("there is no snapshot %s in %s: `tidemark snapshot list` shows what there is", c.At, r)
}

func (c *snapshotRestoreCmd) print(a *app, info *restoredInfo) error {
	if c.JSON {
		return printJSON(a.stdout, info)
	}
	replaced := ""
	if info.Replaced != "" {
		replaced = ", what was there is in " + info.Replaced
	}
	_, err := fmt.Fprintf(a.stdout, "partition %d: snapshot %s, %s, is in %s after %.1f s%s\n", info.Partition, info.Name, config.Bytes(info.Bytes),
		info.Dir, info.Seconds, replaced)
	return err
}
