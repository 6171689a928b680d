package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
)

// patience bounds every wait: a rebalance that waits for the session of a dead member takes up to
// 45 s.
const patience = 100 * time.Second

// longPatience bounds the time in which a cluster settles while it makes progress, on a machine
// that is busy with something else.
const longPatience = 15 * time.Minute

// until waits for a condition, and fails the test if it never holds or a node ends on its own.
func (c *cluster) until(what string, done func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for !done() {
		for _, n := range c.nodes {
			n.running()
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// settle waits until all nodes are ready, together own all partitions, and everything that was
// produced is folded and published (the fold's group has committed it) and in Redis (the cache's
// group has committed that). O10.
func (c *cluster) settle() {
	c.t.Helper()
	if err := c.client.Flush(context.Background()); err != nil {
		c.t.Fatal(err)
	}
	begun := time.Now()
	c.wait("the last fault", c.unsettled)
	c.t.Logf("settled after %s", time.Since(begun).Round(time.Millisecond))
}

// wait waits until nothing is missing, as long as what is missing changes. It fails the test if a
// node ends on its own.
func (c *cluster) wait(since string, what func(ctx context.Context) (missing string)) {
	c.t.Helper()
	begun, last := time.Now(), ""
	deadline := begun.Add(patience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		missing := what(ctx)
		cancel()
		if missing == "" {
			return
		}
		for _, n := range c.nodes {
			n.running()
		}
		if now := time.Now(); missing != last { // the cluster makes progress
			last, deadline = missing, now.Add(patience)
		} else if now.After(deadline) || now.Sub(begun) > longPatience {
			c.t.Fatalf("not settled %s after %s: %s", now.Sub(begun), since, missing)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// shared describes which nodes do not have their share of the partitions, or how many partitions
// are live too often or not at all; "" if all partitions have one owner.
func (c *cluster) shared(ctx context.Context) string {
	live := 0
	for _, n := range c.nodes {
		ok, here, message := n.ready(ctx)
		if !ok {
			return fmt.Sprintf("%s is not ready: %s", n.name, message)
		}
		live += here
	}
	if live != partitions {
		return fmt.Sprintf("%d partitions are live on all nodes together, want %d", live, partitions)
	}
	return ""
}

// unpublished describes what the owners have not folded and published yet; "" if nothing is left.
func (c *cluster) unpublished(ctx context.Context) string {
	if missing := c.shared(ctx); missing != "" {
		return missing
	}
	return c.behind(ctx, foldGroup, events.InputTopics[:]...)
}

// unsettled describes what is missing; "" if the cluster has settled.
func (c *cluster) unsettled(ctx context.Context) string {
	if missing := c.unpublished(ctx); missing != "" {
		return missing
	}
	// This must come last: once the inputs are committed, everything is published, and the ends of
	// the outputs are final.
	return c.behind(ctx, cacheGroup, events.TopicUnread, events.TopicChannels)
}

// behind names a partition that a group has not committed to its end; "" if there is none.
func (c *cluster) behind(ctx context.Context, group string, topics ...string) string {
	ends, err := c.admin.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Sprintf("ends of %v: %v", topics, err)
	}
	committed, err := c.admin.FetchOffsets(ctx, group)
	if err == nil {
		err = committed.Error()
	}
	if err != nil {
		return fmt.Sprintf("offsets of group %s: %v", group, err)
	}
	behind := ""
	ends.Each(func(end kadm.ListedOffset) {
		at, _ := committed.Lookup(end.Topic, end.Partition)
		if end.Offset > 0 && at.At != end.Offset {
			behind = fmt.Sprintf("group %s has committed %s/%d up to %d, it ends at %d", group, end.Topic, end.Partition, at.At, end.Offset)
		}
	})
	return behind
}
