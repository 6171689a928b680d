package snapshots

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

type createCmd struct {
	verbs.JSONFlag
	verbs.RunningFlags
	Snapshots string  `placeholder:"URL" help:"Where to write snapshots: file:///dir, s3://bucket/prefix?endpoint=HOST:PORT&region=NAME, gs://bucket/prefix or az://account/container/prefix; keys come from the environment or from the machine's role. With --node the node uses its own."`
	Partition []int32 `placeholder:"N" help:"Only these partitions."`
	DataDir   string  `default:"tidemark-data" placeholder:"DIR" help:"Directory of the stores (${default})."`
	Full      bool    `help:"Upload all files, even those that the bucket already has: repairs a snapshot with damaged files."`
}

func (createCmd) Help() string {
	return `
Takes a snapshot of each store in the data directory of a stopped node, or with --node of each partition of a running node,
and uploads files that the bucket does not have. A running node also takes snapshots by itself, every --snapshot-every of
` + "`tidemark run`" + ` and when it stops. A snapshot is refused unless it is newer than the current one.

Example:

    tidemark snapshot create --node http://127.0.0.1:8080
    tidemark snapshot create --data-dir /var/lib/tidemark --snapshots s3://backups/tidemark
    tidemark snapshot create --data-dir /var/lib/tidemark --snapshots file:///mnt/backups --partition 3 --full`
}

// Validate checks that the flags name a source and a target.
func (c *createCmd) Validate() error {
	if c.Node == "" && c.Snapshots == "" {
		return errors.New("name the bucket with --snapshots, or a node that takes the snapshot with --node")
	}
	return c.Check()
}

// Run takes the snapshots one after the other.
func (c *createCmd) Run(a *verbs.App) error {
	if c.Node != "" {
		return c.ofNode(a)
	}
	stores, err := verbs.StoresIn(c.DataDir)
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
	r, err := verbs.BucketFlags{Snapshots: c.Snapshots}.Open(snapshot.Options{})
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
		if a.Ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func (c *createCmd) create(a *verbs.App, r *snapshot.Repository, n int32, dir string) (err error) {
	store, err := projections.OpenStopped(dir, nil)
	if verbs.IsInUse(err) {
		return fmt.Errorf("%s is in use: name the node that uses it with --node, so that the node takes the snapshot itself, or stop the node (%w)", dir, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	began := time.Now()
	report, end := Progress(a, n)
	m, s, err := r.Create(a.Ctx, store, dir+".snapshot", snapshot.CreateOptions{Full: c.Full, Report: report})
	end()
	took := admin.Taken{Manifest: m, Stats: s, Unchanged: errors.Is(err, snapshot.ErrUnchanged), Empty: errors.Is(err, projections.ErrEmpty)}
	if err != nil && !took.Unchanged && !took.Empty {
		return err
	}
	return c.print(a, n, &took, time.Since(began))
}
