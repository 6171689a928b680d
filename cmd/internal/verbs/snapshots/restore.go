package snapshots

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

type restoreCmd struct {
	verbs.JSONFlag
	verbs.BucketFlags
	verbs.YesFlag
	DataDir  string `default:"tidemark-data" placeholder:"DIR" help:"Directory for the stores (${default})."`
	At       string `placeholder:"M-R-D" help:"Only the snapshot of this name; by default the newest good one. Needs one --partition."`
	Replace  bool   `env:"-" help:"Replace an existing store, which is moved aside."`
	Parallel int    `default:"4" placeholder:"N" help:"Restore up to N partitions side by side (${default})."`

	board *board
}

func (restoreCmd) Help() string {
	return `
Restores snapshots to the data directory of a stopped node. A node with --snapshots does this by itself when a store is missing or
corrupt; this verb is for going back by hand. It checks everything in a snapshot before it puts it in place, and if one is damaged
it tries the one before it. The node then folds the records after the snapshot.

Example:

    tidemark snapshot restore --snapshots s3://backups/tidemark --data-dir /var/lib/tidemark
    tidemark snapshot restore --snapshots file:///mnt/backups --partition 3 --at 104000-99120-3000 --replace --yes`
}

// Validate checks that the flags fit together.
func (c *restoreCmd) Validate() error {
	if c.At != "" && len(c.Partition) != 1 {
		return errors.New("--at names a snapshot of one partition: name the partition with --partition")
	}
	if c.Parallel < 1 {
		return fmt.Errorf("--parallel %d: it must be at least 1", c.Parallel)
	}
	return nil
}

// restoredInfo is a restored snapshot as JSON.
type restoredInfo struct {
	Info
	Dir      string   `json:"dir"`
	Replaced string   `json:"replaced,omitempty"`
	Damaged  []string `json:"damaged,omitempty"` // why newer ones were skipped
	Seconds  float64  `json:"seconds"`
}

// Run restores the partitions, up to Parallel at a time.
func (c *restoreCmd) Run(a *verbs.App) error {
	if c.Replace {
		if err := c.Confirm(a, "replaces the stores in "+c.DataDir+" with snapshots"); err != nil {
			return err
		}
	}
	r, err := c.Open(snapshot.Options{Restores: c.Parallel})
	if err != nil {
		return err
	}
	if err := private.MkdirAll(c.DataDir); err != nil {
		return fmt.Errorf("the data directory: %w", err)
	}
	c.board = newBoard(a)
	return c.SideBySide(a, r, c.Parallel, func(n int32) error { return c.restore(a, r, n) })
}

func (c *restoreCmd) restore(a *verbs.App, r *snapshot.Repository, n int32) (err error) {
	info := restoredInfo{Dir: verbs.StoreDir(c.DataDir, n)}
	if _, serr := os.Stat(info.Dir); serr == nil {
		if !c.Replace {
			return fmt.Errorf("there is already a store in %s: --replace moves it aside", info.Dir)
		}
		replaced, err := projections.OpenStopped(info.Dir, nil)
		if verbs.IsInUse(err) {
			return fmt.Errorf("%s is in use: stop the node first (%w)", info.Dir, err)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, replaced.Close()) }()
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
			report, end := c.board.of(n)
			found = r.Download(a.Ctx, e.Manifest, temp, report)
			end()
		}
		var damaged *snapshot.DamagedError
		if found != nil && e.Err == nil && !errors.As(found, &damaged) {
			return errors.Join(found, os.RemoveAll(temp))
		}
		if found != nil {
			info.Damaged = append(info.Damaged, found.Error())
			err := c.board.between(func() error {
				_, err := fmt.Fprintf(a.Stderr, "partition %d: %v\n", n, term.Printable(fmt.Sprint(found)))
				return err
			})
			if err != nil {
				return err
			}
			continue
		}
		if err := snapshot.Install(private.FS, temp, info.Dir, info.Replaced); err != nil {
			return err
		}
		info.Info, info.Seconds = NewInfo(n, e.Manifest, e.Current, nil), time.Since(began).Seconds()
		return c.board.between(func() error { return c.print(a, &info) })
	}
	return errors.Join(fmt.Errorf("none of %d snapshots in %s is intact; without a snapshot the node folds the topics from their "+
		"start, if they still have all records",
		len(list), r), os.RemoveAll(temp))
}

// candidates returns the snapshots to try, in this order.
func (c *restoreCmd) candidates(a *verbs.App, r *snapshot.Repository, n int32) ([]snapshot.Entry, error) {
	list, err := r.List(a.Ctx, n)
	if err != nil || c.At == "" {
		return list, err
	}
	at, err := snapshot.ParseName(c.At)
	if err != nil {
		return nil, verbs.Usagef("--at: %v", err)
	}
	for _, e := range list {
		if e.Manifest != nil && e.Manifest.Position() == at {
			return []snapshot.Entry{e}, nil
		}
	}
	return nil, fmt.Errorf("there is no snapshot %s in %s: `tidemark snapshot list` lists them", c.At, r)
}

func (c *restoreCmd) print(a *verbs.App, info *restoredInfo) error {
	if c.JSON {
		return term.PrintJSON(a.Stdout, info)
	}
	replaced := ""
	if info.Replaced != "" {
		replaced = ", the old store is in " + info.Replaced
	}
	_, err := fmt.Fprintf(a.Stdout, "partition %d: snapshot %s, %s, is in %s after %.1f s%s\n", info.Partition, info.Name, config.Bytes(info.Bytes),
		info.Dir, info.Seconds, replaced)
	return err
}
