package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// moveLeader puts node first in the partition's list of replicas, which makes it the preferred one, and elects it.
func moveLeader(ctx context.Context, adm *kadm.Client, topic string, partition, node int32) error {
	ctx = kadm.WithAuthorizedOps(ctx) // metadata from the broker, not from the client's cache
	details, err := adm.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	p, ok := details[topic].Partitions[partition]
	if !ok {
		return errors.New("no such partition")
	}
	if p.Leader == node {
		return nil
	}
	if !slices.Contains(p.Replicas, node) {
		return fmt.Errorf("replicas are on nodes %v only", p.Replicas)
	}
	order := append([]int32{node}, slices.DeleteFunc(slices.Clone(p.Replicas), func(r int32) bool { return r == node })...)
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(topic, partition, order)
	assigned, err := adm.AlterPartitionAssignments(ctx, req)
	if err != nil {
		return fmt.Errorf("reorder the replicas: %w", err)
	}
	if err := assigned[topic][partition].Err; err != nil {
		return fmt.Errorf("reorder the replicas: %w", err)
	}

	var set kadm.TopicsSet
	set.Add(topic, partition)
	for {
		elected, err := adm.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
		if err == nil {
			err = elected[topic][partition].Err
		}
		// Not available: the node has not caught up yet, or the new order has not arrived.
		if err != nil && !errors.Is(err, kerr.ElectionNotNeeded) && !errors.Is(err, kerr.PreferredLeaderNotAvailable) {
			return fmt.Errorf("elect: %w", err)
		}
		details, err := adm.ListTopics(ctx, topic)
		if err != nil {
			return err
		}
		if details[topic].Partitions[partition].Leader == node {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
