package topics

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/term"
)

type createCmd struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.JSONFlag
	Partitions        int32 `default:"64" placeholder:"N" help:"Partitions of each topic (${default}). It cannot be changed later without moving to new topics."`
	ReplicationFactor int16 `default:"3" placeholder:"R" help:"Replicas of each partition (${default}); 1 on a single broker."`
}

func (createCmd) Help() string {
	return `
Creates the three input topics, the outputs and the dead letters with the right configurations. It does not change existing topics: ` + "`tidemark topics check`" + ` prints how they differ.

Example:

    tidemark topics create --brokers kafka-1:9092,kafka-2:9092 --partitions 64 --replication-factor 3`
}

// Validate checks the numbers.
func (c *createCmd) Validate() error {
	if c.Partitions < 1 || c.ReplicationFactor < 1 {
		return fmt.Errorf("--partitions and --replication-factor must be at least 1")
	}
	return nil
}

// Run creates what is missing.
func (c *createCmd) Run(a *verbs.App) error {
	cl, err := c.Client(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	report, err := kafkaadmin.Ensure(a.Ctx, kadm.NewClient(cl), c.Specs(c.Partitions, c.ReplicationFactor))
	if c.JSON {
		if jsonErr := term.PrintJSON(a.Stdout, report); err == nil {
			err = jsonErr
		}
		return err
	}
	for _, name := range report.Created {
		fmt.Fprintf(a.Stdout, "created  %s\n", name)
	}
	for _, name := range report.Existed {
		fmt.Fprintf(a.Stdout, "existed  %s\n", name)
	}
	return err
}
