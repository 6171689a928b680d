package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

// ofNode makes v compare copies of a running node's stores. missing is the error for partitions
// that cannot be compared now; v compares the others.
func (c *verifyCmd) ofNode(a *verbs.App, v *rebuild.Config) (missing, err error) {
	node := c.Admin()
	about, err := node.About(a.Ctx)
	if err != nil {
		return nil, err
	}
	if !a.Given["data-dir"] {
		v.DataDir = about.DataDir
	}
	if v.DataDir, err = filepath.Abs(v.DataDir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(v.DataDir); err != nil {
		return nil, fmt.Errorf("the node's data directory %s is not on this machine (%w): run this on the node's machine, or name the "+
			"directory with --data-dir", v.DataDir, err)
	}
	if v.Partitions, missing = choose(about, c.Partition); len(v.Partitions) == 0 {
		return nil, errors.Join(missing, errors.New("there is nothing to compare on "+c.Node))
	}
	v.Checkpoint = func(ctx context.Context, partition int32, dir string) error {
		rel, err := filepath.Rel(v.DataDir, dir)
		if err != nil {
			return err
		}
		if err := node.Checkpoint(ctx, partition, filepath.ToSlash(rel)); err != nil {
			return err
		}
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("the node has copied partition %d, but not to %s (%w): --data-dir must be the node's own data "+
				"directory", partition, dir, err)
		}
		return nil
	}
	return missing, nil
}

// choose returns the live partitions of a node, restricted to the requested ones if there are any,
// and an error for requested ones that are not live.
func choose(about *admin.About, asked []int32) (live []int32, missing error) {
	var errs []error
	here := map[int32]bool{}
	for _, p := range about.Partitions {
		here[p.Partition] = true
		switch {
		case len(asked) > 0 && !slices.Contains(asked, p.Partition):
		case p.Live:
			live = append(live, p.Partition)
		default:
			errs = append(errs, fmt.Errorf("partition %d is not compared: %s", p.Partition, p.Status))
		}
	}
	for _, n := range asked {
		if !here[n] {
			errs = append(errs, fmt.Errorf("partition %d is not compared: the node does not own it; name the node whose /readyz lists it", n))
		}
	}
	return live, errors.Join(errs...)
}
