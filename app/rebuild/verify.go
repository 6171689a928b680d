package rebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tidemark/tidemark/processor"
)

// Verify rebuilds each partition beside its store, up to the store's position, and compares the
// digests, then the records one by one, and for differing records what readers see. It then
// compares Redis with the rebuilt stores. It changes nothing, except with Repair. The error is
// about parts that could not be compared.
func Verify(ctx context.Context, c Config) (res *Result, err error) {
	if c.Limit == 0 {
		c.Limit = 20
	}
	if c.Partitions == nil {
		if c.Partitions, err = processor.Stores(c.DataDir); err != nil {
			return nil, err
		}
		if len(c.Partitions) == 0 {
			return nil, fmt.Errorf("there is no store in %s", c.DataDir)
		}
	}
	if c.Checkpoint != nil && c.Repair {
		return nil, errors.New("a store can be repaired only while no node uses it: stop the node first; nothing was changed")
	}
	locked := locks{}
	if c.Checkpoint == nil {
		way := stopFirst
		if !c.Repair {
			way += ", or name it with --node"
		}
		if locked, err = lock(c.DataDir, c.Partitions, way); err != nil {
			return nil, err
		}
	}
	free := func() error { l := locked; locked = nil; return l.release() }
	defer func() { err = errors.Join(err, free()) }()
	scratch, err := os.MkdirTemp(c.DataDir, ScratchPrefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()

	v := &verification{Config: c, copies: filepath.Join(scratch, CopiesDir), rebuilt: filepath.Join(scratch, "rebuilt"), locked: locked,
		res: &Result{Differences: []Difference{}}}
	settings, err := v.copy(ctx, c.Partitions)
	if err != nil {
		return nil, err
	}
	if !c.Repair { // only the copies are needed from here on, so a node may start
		if err := free(); err != nil {
			return nil, err
		}
	}
	v.settings = settings
	list, err := v.rebuild(ctx, c.Partitions, false)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, r := range list {
		errs = append(errs, v.partition(r))
	}
	if c.Redis != nil {
		errs = append(errs, v.compareRedis(ctx, list))
	}
	if err := errors.Join(errs...); err != nil || !c.Repair {
		return v.res, err
	}
	return v.res, v.repair(ctx, free)
}
