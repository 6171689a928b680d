package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// killed kills node one several times, and starts it again.
func (c *cluster) killed(ctx context.Context) ([]gauge.Result, error) {
	var live, whole, users []time.Duration
	for i := range c.kills {
		c.report("kill -9, number %d", i+1)
		if err := sleep(ctx, c.settle); err != nil {
			return nil, err
		}
		c.one.Kill()
		if err := c.again(ctx); err != nil {
			return nil, err
		}
		m := c.one.Moments()
		a, _ := m.Took(Assigned, Live, c.all) // again has seen them all
		u, _ := m.Took(Assigned, Listed, c.all)
		w, _ := m.Until(c.one.Began, Live, c.all)
		live, whole, users = append(live, a), append(whole, w), append(users, u)
	}
	return []gauge.Result{{
		Name:  fmt.Sprintf("the node, killed %d times under %d events a second", c.kills, c.rate),
		Goals: []gauge.Goal{gauge.AtMost("s from the assignment until all partitions are live", slices.Max(live).Seconds(), 2)},
		Note: fmt.Sprintf("each %s s; %s s since the start of the process; calls about users are answered %s s after the assignment",
			seconds(live), seconds(whole), seconds(users)),
	}}, nil
}

// restored takes snapshots, kills node one a while later and removes its stores. The node starts again
// from the snapshots.
func (c *cluster) restored(ctx context.Context) ([]gauge.Result, error) {
	c.report("snapshots, and a restore of all partitions")
	began := time.Now()
	if err := c.verb(ctx, "snapshot", "create", "--node", c.url); err != nil {
		return nil, err
	}
	if err := sleep(ctx, c.settle); err != nil {
		return nil, err
	}
	age := time.Since(began)
	c.one.Kill()
	if err := os.RemoveAll(filepath.Join(c.dir, "one")); err != nil {
		return nil, err
	}
	if err := c.again(ctx); err != nil {
		return nil, err
	}
	m := c.one.Moments()
	live, ok := m.Took(Restored, Live, c.all)
	if !ok {
		return nil, fmt.Errorf("not all partitions were restored from a snapshot, but %v", m.Of(c.one.Began, Restored))
	}
	downloaded, _ := m.Took(Assigned, Restored, c.all)
	whole, _ := m.Took(Assigned, Live, c.all)
	return []gauge.Result{{
		Name:  fmt.Sprintf("a node without stores, snapshots of %s before, %d events a second", age.Round(time.Second), c.rate),
		Goals: []gauge.Goal{gauge.AtMost("s from a restored store until it is live", live.Seconds(), 2)},
		Note:  fmt.Sprintf("restored %.2f s and live %.2f s after the assignment", downloaded.Seconds(), whole.Seconds()),
	}}, nil
}

// seconds formats durations.
func seconds(all []time.Duration) string {
	var text []byte
	for i, d := range all {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = fmt.Appendf(text, "%.2f", d.Seconds())
	}
	return string(text)
}
