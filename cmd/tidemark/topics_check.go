package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

type topicsCheckCmd struct {
	brokersFlags
	topicsFlags
	jsonFlag
	Partitions        int32 `default:"0" placeholder:"N" help:"Partitions that each topic should have; 0 = any number, the same for all inputs (${default})."`
	ReplicationFactor int16 `default:"0" placeholder:"R" help:"Replicas that each partition should have; 0 = any number (${default})."`
}

func (topicsCheckCmd) Help() string {
	return `
Compares the topics with what ` + "`tidemark topics create`" + ` would make, and says how each difference is mended. Exits with 3 if
there is one.

Example:

    tidemark topics check --partitions 64 --replication-factor 3`
}

// Run prints the differences.
func (c *topicsCheckCmd) Run(a *app) error {
	cl, err := c.client(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	// Without a wanted number of replicas the configurations that follow from it are not compared.
	specs := c.specs(c.Partitions, c.ReplicationFactor)
	if c.ReplicationFactor == 0 {
		for i := range specs {
			delete(specs[i].Configs, "min.insync.replicas")
		}
	}
	diffs, err := kafkaadmin.Check(a.ctx, kadm.NewClient(cl), specs)
	if err != nil {
		return err
	}
	if c.JSON {
		if diffs == nil {
			diffs = []kafkaadmin.Difference{}
		}
		err = printJSON(a.stdout, struct {
			Differences []kafkaadmin.Difference `json:"differences"`
		}{diffs})
	} else {
		for _, d := range diffs {
			fmt.Fprintln(a.stdout, d)
		}
		if len(diffs) == 0 {
			_, err = fmt.Fprintf(a.stdout, "all %d topics are as they should be\n", len(specs))
		}
	}
	if err == nil && len(diffs) > 0 {
		err = errDifferences
	}
	return err
}
