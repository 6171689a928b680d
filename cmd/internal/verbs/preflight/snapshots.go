package preflight

import (
	"context"
	"fmt"
)

// snapshots checks that the place of the snapshots can be written, read and listed.
func (c *Config) snapshots(ctx context.Context, r *Report) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.Patience)
	defer cancel()
	wayOut := "check the address of --snapshots, and the rights of its keys: list, read, write and delete"
	partitions, err := c.Node.Snapshots.Partitions(ctx)
	if err == nil {
		err = c.Node.Snapshots.Probe(ctx)
	}
	if err != nil {
		r.Failed("snapshots", err.Error(), wayOut)
		return
	}
	r.OK("snapshots", fmt.Sprintf("%s can be written; it has snapshots of %d partitions", c.Node.Snapshots, len(partitions)))
}
