package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// agreedPartition returns the partition's metadata once every broker that answers names the same
// leader. Brokers learn of a new leader at different times.
func agreedPartition(ctx context.Context, cl *kgo.Client, topic string, partition int32) (kmsg.MetadataResponseTopicPartition, error) {
	adm := kadm.NewClient(cl)
	for {
		brokers, err := adm.ListBrokers(ctx)
		if err != nil {
			return kmsg.MetadataResponseTopicPartition{}, err
		}
		var found []kmsg.MetadataResponseTopicPartition
		for _, id := range brokers.NodeIDs() {
			if p, ok := partitionAt(ctx, cl.Broker(int(id)), topic, partition); ok {
				found = append(found, p)
			}
		}
		differs := func(p kmsg.MetadataResponseTopicPartition) bool { return p.Leader < 0 || p.Leader != found[0].Leader }
		if len(found) > 0 && !slices.ContainsFunc(found, differs) {
			return found[0], nil
		}
		if err := soon(ctx); err != nil {
			return kmsg.MetadataResponseTopicPartition{}, fmt.Errorf("the brokers do not agree on a leader: %w", err)
		}
	}
}

// partitionAt returns one broker's metadata of a partition. It returns false if the broker does not
// answer within 2 s or does not know the partition.
func partitionAt(ctx context.Context, broker *kgo.Broker, topic string, partition int32) (kmsg.MetadataResponseTopicPartition, bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	of := kmsg.NewMetadataRequestTopic()
	of.Topic = &topic
	req.Topics = append(req.Topics, of)
	kresp, err := broker.Request(ctx, req)
	if err != nil {
		return kmsg.MetadataResponseTopicPartition{}, false
	}
	for _, t := range kresp.(*kmsg.MetadataResponse).Topics {
		for _, p := range t.Partitions {
			if p.Partition == partition {
				return p, true
			}
		}
	}
	return kmsg.MetadataResponseTopicPartition{}, false
}

// soon waits a moment between two attempts.
func soon(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}

// moveLeader puts node first in the partition's list of replicas, which makes it the preferred one,
// elects it, and returns once every broker that answers names it.
func moveLeader(ctx context.Context, cl *kgo.Client, topic string, partition, node int32) error {
	p, err := agreedPartition(ctx, cl, topic, partition)
	if err != nil || p.Leader == node {
		return err
	}
	if !slices.Contains(p.Replicas, node) {
		return fmt.Errorf("replicas are on nodes %v only", p.Replicas)
	}
	order := append([]int32{node}, slices.DeleteFunc(slices.Clone(p.Replicas), func(r int32) bool { return r == node })...)
	adm := kadm.NewClient(cl)
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
		p, err := agreedPartition(ctx, cl, topic, partition)
		if err != nil || p.Leader == node {
			return err
		}
		if err := soon(ctx); err != nil {
			return err
		}
	}
}
