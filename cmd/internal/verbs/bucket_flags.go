package verbs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/snapshot"
)

// BucketFlags set the place of snapshots, and the partitions to use.
type BucketFlags struct {
	Snapshots string  `required:"" placeholder:"URL" help:"Where snapshots are: file:///dir, s3://bucket/prefix?endpoint=HOST:PORT&region=NAME, gs://bucket/prefix or az://account/container/prefix; keys come from the environment or from the machine's role."`
	Partition []int32 `placeholder:"N" help:"Only these partitions."`
}

// RetentionFlags set which snapshots prune keeps.
type RetentionFlags struct {
	SnapshotKeep  int           `default:"3" placeholder:"N" help:"How many snapshots of a partition are kept (${default})."`
	SnapshotGrace time.Duration `default:"24h" placeholder:"DURATION" help:"How old a file that no snapshot names must be before it is removed; a snapshot may take a quarter of it to upload (${default})."`
}

// Check checks the numbers.
func (f RetentionFlags) Check() error {
	switch {
	case f.SnapshotKeep < 1:
		return fmt.Errorf("--snapshot-keep %d: it must be at least 1", f.SnapshotKeep)
	case f.SnapshotGrace < time.Minute:
		return fmt.Errorf("--snapshot-grace %s: it must be at least 1m, since a snapshot may take a quarter of it to upload", f.SnapshotGrace)
	}
	return nil
}

// Open opens the bucket.
func (f BucketFlags) Open(o snapshot.Options) (*snapshot.Repository, error) {
	b, err := snapshot.OpenBucket(f.Snapshots)
	if err != nil {
		return nil, Usagef("--snapshots: %v", err)
	}
	return snapshot.New(b, o), nil
}

// Each calls fn for the requested partitions, or for all that have an object in the bucket, one
// after the other. It continues after a partition that fails.
func (f BucketFlags) Each(a *App, r *snapshot.Repository, fn func(partition int32) error) error {
	return f.SideBySide(a, r, 1, fn)
}

// SideBySide is Each with up to parallel partitions at a time. Errors are in the order of the
// partitions.
func (f BucketFlags) SideBySide(a *App, r *snapshot.Repository, parallel int, fn func(partition int32) error) error {
	partitions, err := f.partitions(a, r)
	if err != nil {
		return err
	}
	errs := make([]error, len(partitions))
	group, _ := guard.WithContext(a.Ctx)
	group.SetLimit(parallel)
	for i, n := range partitions {
		group.Go(fmt.Sprintf("partition %d", n), func() error {
			if i == 0 || a.Ctx.Err() == nil {
				errs[i] = guard.Err(fmt.Sprintf("partition %d", n), func() error { return fn(n) })
			}
			if errs[i] != nil {
				errs[i] = fmt.Errorf("partition %d: %w", n, errs[i])
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), errors.Join(errs...))
}

func (f BucketFlags) partitions(a *App, r *snapshot.Repository) ([]int32, error) {
	partitions, err := r.Partitions(a.Ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range f.Partition {
		if !slices.Contains(partitions, n) {
			return nil, fmt.Errorf("there is no snapshot of partition %d in %s", n, r)
		}
	}
	if len(f.Partition) > 0 {
		return f.Partition, nil
	}
	if len(partitions) == 0 {
		return nil, fmt.Errorf("there are no snapshots in %s", r)
	}
	return partitions, nil
}
