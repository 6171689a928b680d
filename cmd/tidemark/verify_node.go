package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tidemark/tidemark/internal/admin"
	"github.com/tidemark/tidemark/internal/rebuild"
)

// ofNode makes v a comparison of what a running node has. missing is about partitions that cannot be compared now; the
// others are.
func (c *verifyCmd) ofNode(a *app, v *rebuild.Config) (missing, err error) {
	node := c.admin()
	about, err := node.About(a.ctx)
	if err != nil {
		return nil, err
	}
	if !a.given["data-dir"] {
		v.DataDir = about.DataDir
	}
	if v.DataDir, err = filepath.Abs(v.DataDir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(v.DataDir); err != nil {
		return nil, fmt.Errorf("the node's data directory %s is not here (%w): run this on the node's machine, or say with --data-dir where it is", v.DataDir, err)
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
			return fmt.Errorf("the node has copied partition %d, and not to %s (%w): --data-dir has to be its own data directory", partition, dir, err)
		}
		return nil
	}
	return missing, nil
}

// choose are the partitions that are live on a node, of those that were asked for if any were, and an error for those that
// are not.
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
			errs = append(errs, fmt.Errorf("partition %d is not compared: the node does not own it; name the one that does, by /readyz", n))
		}
	}
	return live, errors.Join(errs...)
}
