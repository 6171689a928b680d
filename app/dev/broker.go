package dev

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// startBroker runs an embedded broker on a listener, with its log in dir. The log is always on
// disk, because in memory it would take some 120 bytes a record for ever.
func startBroker(ln net.Listener, dir string) (*kfake.Cluster, error) {
	c, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID("tidemark-dev"),
		kfake.DataDir(dir),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return ln, nil }),
	)
	if err != nil {
		return nil, fmt.Errorf("embedded Kafka: %w", err)
	}
	return c, nil
}

// createTopics creates missing topics. It refuses existing topics with another number of
// partitions, because their keys would be in other partitions.
func createTopics(ctx context.Context, broker string, partitions int32) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.MetadataMinAge(50*time.Millisecond), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	specs := events.TopicSpecs(partitions, 1)
	if err := kafkaadmin.Create(ctx, adm, specs); err != nil {
		return err
	}
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	_, _, counts, err := kafkaadmin.Identities(ctx, adm, names)
	if err != nil {
		return err
	}
	for _, s := range specs {
		if n := counts[s.Name]; n != partitions {
			return fmt.Errorf("topic %s already exists with %d partitions: start with --partitions %d, or with another --data-dir",
				s.Name, n, n)
		}
	}
	return nil
}
