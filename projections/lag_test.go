package projections_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
)

const week = 7 * 24 * 3600 * 1000

// keepingUp restricts pick to orders in which no topic lags by more than a week beyond the index
// retention, if the log is trimmed (DESIGN §4.6). The orders are of rest, the last records of c's
// log. With a longer lag, a post takes back what an open time target reached, and an owner that
// folds the post before the read does not know that another one may have published it.
func keepingUp(c *random.Case, rest *script.Log, pick func(left []events.Input) int) func(left []events.Input) int {
	if !c.Settings.TrimLog {
		return pick
	}
	next := logTimes(c)
	for in := range next {
		next[in] = next[in][len(next[in])-len(rest[in]):]
	}
	return func(left []events.Input) int {
		first := int64(math.MaxInt64)
		for _, in := range left {
			first = min(first, next[in][0])
		}
		var may []events.Input
		for _, in := range left {
			if next[in][0]-first <= c.Settings.IndexRetention+week {
				may = append(may, in)
			}
		}
		in := may[0]
		if len(may) > 1 {
			in = may[pick(may)]
		}
		next[in] = next[in][1:]
		return slices.Index(left, in)
	}
}

// logTimes returns the log time of each topic after each of its records.
func logTimes(c *random.Case) (times [events.NumInputs][]int64) {
	for in := range c.Log {
		now := int64(math.MinInt64)
		for _, r := range c.Log[in] {
			switch r.Input {
			case events.Messages:
				now = max(now, r.Message.OccurredAt)
			case events.Reads:
				now = max(now, r.Read.OccurredAt)
			default:
				now = max(now, r.Delivery.OccurredAt)
			}
			times[in] = append(times[in], now)
		}
	}
	return times
}

// TestKeepingUp: keepingUp draws every lag up to the limit and none beyond it. Without TrimLog it
// draws any.
func TestKeepingUp(t *testing.T) {
	const day = week / 7
	c := &random.Case{}
	c.Settings.IndexRetention = 3 * day
	for _, at := range []int64{0, 1, 2, 3} {
		c.Log.Add(script.Record{Input: events.Messages, Message: &events.Message{OccurredAt: at * day}})
	}
	for _, at := range []int64{0, 20, 13, 30} { // the third is at log time 20
		c.Log.Add(script.Record{Input: events.Reads, Read: &events.Read{OccurredAt: at * day}})
	}
	for _, at := range []int64{5, 10, 11} {
		c.Log.Add(script.Record{Input: events.Deliveries, Delivery: &events.Delivery{OccurredAt: at * day}})
	}
	for trim, longest := range map[bool]int64{true: 10 * day, false: 30 * day} {
		c.Settings.TrimLog = trim
		seen := int64(0)
		order := func(t *rapid.T) {
			rest, times := c.Log, logTimes(c)
			committed := interleavingOf(t, c, &rest, "committed")
			committed = committed[:rapid.IntRange(0, len(committed)).Draw(t, "committed")]
			for _, r := range committed {
				rest[r.Input] = rest[r.Input][1:]
			}
			now := int64(math.MinInt64)
			for _, r := range slices.Concat(committed, oneFirst(t, c, &rest)) {
				at := times[r.Input][r.Offset]
				now = max(now, at)
				seen = max(seen, now-at)
			}
		}
		for round := 0; round < 20 || seen < longest && round < 500; round++ { // a short run draws 20 orders a round
			rapid.Check(t, order)
		}
		if seen != longest {
			t.Errorf("trimming %t: the longest lag was %d ms, it should be %d", trim, seen, longest)
		}
	}
}
