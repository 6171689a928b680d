package chaos

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
)

// post is a role of one broker that another broker takes over when the first is gone.
type post struct {
	name  string
	leads func(ctx context.Context) (broker int32, err error)
}

// posts returns the roles of brokers that a node depends on.
func (c *cluster) posts() []post {
	leads := func(topic string, partition int32) post {
		return post{fmt.Sprintf("leader of %s/%d", topic, partition), func(ctx context.Context) (int32, error) {
			d, err := c.described(ctx, topic)
			return d[topic].Partitions[partition].Leader, err
		}}
	}
	coordinates := func(group string) post {
		return post{"coordinator of group " + group, func(ctx context.Context) (int32, error) {
			found := c.admin.FindGroupCoordinators(ctx, group)
			return found[group].NodeID, found[group].Err
		}}
	}
	return []post{
		leads(events.TopicMessages, 0), coordinates(foldGroup), leads(events.TopicReads, 1), leads(events.TopicUnread, 2),
		coordinates(cacheGroup), leads(events.TopicChannels, 3),
		{"controller", c.controller},
	}
}

// controller returns the controller that the brokers have elected. The one in their metadata is an
// arbitrary broker.
func (c *cluster) controller(ctx context.Context) (int32, error) {
	topic, partition := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, partition)
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return -1, err
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return -1, fmt.Errorf("the quorum is not described: error code %d", res.ErrorCode)
	}
	of := res.Topics[0].Partitions[0]
	return of.LeaderID, errors.Join(kerr.ErrorForCode(res.ErrorCode), kerr.ErrorForCode(of.ErrorCode))
}

// described queries the brokers instead of the client's cache.
func (c *cluster) described(ctx context.Context, topics ...string) (kadm.TopicDetails, error) {
	d, err := c.admin.ListTopics(kadm.WithAuthorizedOps(ctx), topics...)
	if err == nil {
		err = d.Error()
	}
	return d, err
}

// complete reports whether every replica of every partition is in sync again. Only then may the
// next broker fail.
func (c *cluster) complete() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	details, err := c.admin.ListTopics(kadm.WithAuthorizedOps(ctx))
	if err == nil {
		err = details.Error()
	}
	if err != nil {
		return false
	}
	for _, topic := range details {
		for _, p := range topic.Partitions {
			if p.Leader < 0 || len(p.ISR) != len(c.kafka.Brokers) {
				return false
			}
		}
	}
	return true
}

// TestLeaderDies (R6) kills (SIGKILL) or freezes (SIGSTOP), under load, the broker that leads a
// partition of the inputs or outputs, that coordinates a group, or that is the controller, until
// another of the three has its role. Then it brings the broker back; a frozen one still believes
// that it leads. A user is erased meanwhile. No record is lost, no key has two records with
// different bytes, and the cluster recovers by itself.
func TestLeaderDies(t *testing.T) {
	t.Parallel()
	a := newAttack(t, 3, 2)
	a.until("all replicas are in sync", a.complete)
	posts := a.posts()
	a.r.Shuffle(len(posts), func(i, j int) { posts[i], posts[j] = posts[j], posts[i] })
	for round := range number(t, "TIDEMARK_CHAOS_LEADERS", 1) {
		a.ticks(20 + a.r.IntN(50))
		a.erase() // continues while the broker is away
		p := posts[round%len(posts)]
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		victim, err := p.leads(ctx)
		cancel()
		if err != nil || victim < 1 {
			t.Fatalf("%s: broker %d, %v", p.name, victim, err)
		}
		a.w.Write(a.r.IntN(2) * 1500)
		frozen := a.r.IntN(2) == 0
		if frozen {
			a.kafka.Pause(int(victim))
		} else {
			a.kafka.Kill(int(victim))
		}
		t.Logf("round %d: broker %d, %s, is gone (frozen: %t)", round+1, victim, p.name, frozen)
		begun := time.Now()
		a.ticksUntil("another broker is "+p.name, func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			now, err := p.leads(ctx)
			return err == nil && now > 0 && now != victim
		})
		t.Logf("another broker took over after %s", time.Since(begun).Round(time.Millisecond))
		a.ticks(20 + a.r.IntN(100))
		if frozen {
			a.kafka.Continue(int(victim))
		} else {
			a.kafka.Start(int(victim))
		}
		a.ticksUntil("all replicas are in sync again", a.complete)
	}
	a.reopened = true // a session may have ended while its coordinator was away
	a.ticks(50)
	a.check()
}
