package cluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// handedOver starts node two, which takes half of the partitions, stops it, and starts it again.
// Meanwhile it asks node one, which forwards to the owner.
func (c *cluster) handedOver(ctx context.Context) ([]gauge.Result, error) {
	url, err := freeURL()
	if err != nil {
		return nil, err
	}
	c.report("a second node takes half of the partitions")
	if err := c.startTwo(ctx, url); err != nil {
		return nil, err
	}
	moved := c.two.Moments().Of(c.two.Began, Live)
	if err := c.followed(ctx, moved); err != nil {
		return nil, err
	}
	c.report("the second node stops")
	asked := c.ask()
	defer asked.longest()
	if err := sleep(ctx, c.settle); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := c.two.Terminate(); err != nil {
		return nil, err
	}
	var live time.Duration
	err = c.one.Await(ctx, "the partitions of a node that stops move", func(m Moments) (ok bool) {
		live, ok = m.Until(began, Live, moved)
		return ok
	})
	if err == nil {
		err = c.two.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	out := []gauge.Result{{
		Name: fmt.Sprintf("hand-over: a node with %d of %d partitions stops, with a standby, %d events a second", len(moved), len(c.all), c.rate),
		Goals: []gauge.Goal{gauge.AtMost("s until all are live on the standby", live.Seconds(), 0.5),
			gauge.AtMost("s without an answer of GetUnread", asked.longest().Seconds(), 0.5)},
	}}
	c.report("it starts again")
	asked = c.ask()
	defer asked.longest()
	if err := c.startTwo(ctx, url); err != nil {
		return nil, err
	}
	return append(out, gauge.Result{
		Name:  "the same: it starts again and gets partitions back",
		Goals: []gauge.Goal{gauge.AtMost("s without an answer of GetUnread", asked.longest().Seconds(), 0.5)},
	}), nil
}

// startTwo starts node two, and returns when it has half of the partitions.
func (c *cluster) startTwo(ctx context.Context, url string) (err error) {
	if c.two, err = c.start("two", url); err != nil {
		return err
	}
	return c.two.Await(ctx, "the second node owns half of the partitions", func(m Moments) bool {
		mine := m.Of(c.two.Began, Live)
		_, listed := m.Until(c.two.Began, Listed, mine)
		return len(mine) >= len(c.all)/2 && listed
	})
}

// followed waits until node one tails partitions and knows the channels of their users.
func (c *cluster) followed(ctx context.Context, partitions []int32) error {
	return c.one.Await(ctx, "the first node tails the partitions of the second", func(m Moments) bool {
		_, tailed := m.Until(c.two.Began, Tailed, partitions)
		_, listed := m.Until(c.two.Began, Listed, partitions)
		return tailed && listed
	})
}

// asking asks node one for a count of each partition, over and over.
type asking struct {
	stop chan struct{}
	once sync.Once // closes stop
	all  sync.WaitGroup
	idle func() // closes connections

	mu  sync.Mutex
	max time.Duration
}

// ask begins to ask for a channel of each partition every 5 ms.
func (c *cluster) ask() *asking {
	const every = 5 * time.Millisecond
	a := &asking{stop: make(chan struct{})}
	transport := &http.Transport{MaxIdleConnsPerHost: partitions}
	a.idle = transport.CloseIdleConnections
	client := queryv1connect.NewQueryServiceClient(&http.Client{Transport: transport, Timeout: time.Second}, c.url)
	for _, channel := range c.channels() {
		a.all.Go(func() {
			request := &queryv1.GetUnreadRequest{UserId: traffic.UserID(c.mix.Member(channel, 0)), ChannelId: traffic.ChannelID(channel)}
			tick := time.NewTicker(every)
			defer tick.Stop()
			for last := time.Now(); ; {
				_, err := client.GetUnread(context.Background(), connect.NewRequest(request))
				a.mu.Lock()
				a.max = max(a.max, time.Since(last))
				a.mu.Unlock()
				if err == nil {
					last = time.Now()
				}
				select {
				case <-tick.C:
				case <-a.stop:
					return
				}
			}
		})
	}
	return a
}

// channels returns a channel of each partition.
func (c *cluster) channels() (all []int) {
	missing := slices.Clone(c.all)
	for channel := 0; len(missing) > 0; channel++ {
		n := events.PartitionOf([]byte(traffic.ChannelID(channel)), partitions)
		if i := slices.Index(missing, n); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
			all = append(all, channel)
		}
	}
	return all
}

// longest ends the asking, and returns the longest time without an answer for a partition.
func (a *asking) longest() time.Duration {
	a.once.Do(func() { close(a.stop) })
	a.all.Wait()
	a.idle()
	return a.max
}
