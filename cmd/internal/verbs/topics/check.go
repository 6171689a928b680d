package topics

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/term"
)

type checkCmd struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.JSONFlag
	Partitions        int32 `default:"0" placeholder:"N" help:"Partitions that each topic should have; 0 = any number, the same for all inputs (${default})."`
	ReplicationFactor int16 `default:"0" placeholder:"R" help:"Replicas that each partition should have; 0 = any number (${default})."`
	Producers         bool  `help:"Also check the newest records of the inputs: does a producer use another partitioner than murmur2 of the channel?"`
}

func (checkCmd) Help() string {
	return `
Compares the topics with what ` + "`tidemark topics create`" + ` would create, and prints how to repair each difference. With
--producers it also checks the newest records of each input. For records in the wrong partition of their channel it prints
which client's partitioner probably chose it, and how to set murmur2 there. The exit code is 3 if there is a difference.

Example:

    tidemark topics check --partitions 64 --replication-factor 3
    tidemark topics check --producers`
}

// Run prints the differences.
func (c *checkCmd) Run(a *verbs.App) error {
	cl, err := c.Client(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	// Without a wanted number of replicas the configurations that follow from it are not compared.
	specs := c.Specs(c.Partitions, c.ReplicationFactor)
	if c.ReplicationFactor == 0 {
		for i := range specs {
			delete(specs[i].Configs, "min.insync.replicas")
		}
	}
	diffs, err := kafkaadmin.Check(a.Ctx, kadm.NewClient(cl), specs)
	if err != nil {
		return err
	}
	strangers := []StrangersInfo{}
	if c.Producers {
		if strangers, err = c.strangers(a, kadm.NewClient(cl)); err != nil {
			return err
		}
	}
	if c.JSON {
		if diffs == nil {
			diffs = []kafkaadmin.Difference{}
		}
		err = term.PrintJSON(a.Stdout, struct {
			Differences []kafkaadmin.Difference `json:"differences"`
			Producers   []StrangersInfo         `json:"producers,omitempty"`
		}{diffs, strangers})
	} else {
		for _, d := range diffs {
			fmt.Fprintln(a.Stdout, term.Printable(fmt.Sprint(d)))
		}
		for _, s := range strangers {
			fmt.Fprintln(a.Stdout, s)
		}
		if len(diffs)+len(strangers) == 0 {
			_, err = fmt.Fprintf(a.Stdout, "all %d topics are as they should be\n", len(specs))
		}
	}
	if err == nil && len(diffs)+len(strangers) > 0 {
		err = verbs.ErrDifferences
	}
	return err
}
