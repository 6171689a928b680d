package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/traffic"
)

// Run measures nodes with 20 million pairs, nearly all of them in cold channels, under 5,000 events a
// second: their memory for as long as soak, how long partitions take from their assignment until they
// are live after kill -9, and from the end of a restore, and for how long nobody answers while they
// move. It fills the brokers of env, and needs Linux.
func Run(ctx context.Context, env Env, soak time.Duration) ([]gauge.Result, error) {
	if now, _ := gauge.Resident(); now == 0 {
		return nil, fmt.Errorf("resident memory cannot be measured on %s: run this bench on Linux", runtime.GOOS)
	}
	return run(ctx, env, size{mix: traffic.Mixes["G"], rate: 5_000, soak: soak, settle: 15 * time.Second, kills: 3})
}

func run(ctx context.Context, env Env, size size) (out []gauge.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, size.soak+time.Hour)
	defer cancel()
	c, err := open(ctx, env, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	folding, err := c.foldJoins(ctx)
	if err != nil {
		return nil, err
	}
	stop := c.load(ctx)
	defer func() { err = errors.Join(err, stop()) }()
	for _, part := range []func(context.Context) ([]gauge.Result, error){
		func(ctx context.Context) ([]gauge.Result, error) { return c.watch(ctx, folding) }, c.killed, c.restored, c.handedOver,
	} {
		results, err := part(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, results...)
	}
	return out, nil
}

// foldJoins starts node one, waits until it has folded everything, and returns its largest memory
// meanwhile.
func (c *cluster) foldJoins(ctx context.Context) (largest int64, err error) {
	c.report("a node folds the joins of %d pairs", c.pairs())
	if c.url, err = freeURL(); err != nil {
		return 0, err
	}
	if err := c.startOne(); err != nil {
		return 0, err
	}
	for {
		_, largest, err := c.one.Resident()
		if err != nil {
			return 0, err
		}
		if behind, ok := c.behind(ctx); ok && behind == 0 {
			return largest, nil
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// watch samples the memory of node one for as long as soak.
func (c *cluster) watch(ctx context.Context, folding int64) ([]gauge.Result, error) {
	const limit = 1229 // MiB, for --memory 1GiB
	c.report("%d events a second for %s", c.rate, c.soak)
	if err := sleep(ctx, c.settle); err != nil {
		return nil, err
	}
	first, peak, err := c.one.Resident()
	if err != nil {
		return nil, err
	}
	before, err := c.written(ctx)
	if err != nil {
		return nil, err
	}
	largest, most, began := first, int64(0), time.Now()
	for time.Since(began) < c.soak {
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
		now, highest, err := c.one.Resident()
		if err != nil {
			return nil, err
		}
		if highest > peak { // between two samples
			now = highest
		}
		largest = max(largest, now)
		if behind, ok := c.behind(ctx); ok {
			most = max(most, behind)
		}
	}
	after, err := c.written(ctx)
	if err != nil {
		return nil, err
	}
	return []gauge.Result{{
		Name:  fmt.Sprintf("a node with %d pairs and --memory %s, %d events a second for %s", c.pairs(), memory, c.rate, c.soak),
		Rate:  float64(after-before) / time.Since(began).Seconds(),
		Goals: []gauge.Goal{gauge.AtMost("MiB resident", mib(largest), limit)},
		Note: fmt.Sprintf("at first %.0f MiB; at most %.0f while it folded the joins; the offsets of its group were at most %d records behind",
			mib(first), mib(folding), most),
	}}, nil
}

func (c *cluster) pairs() int { return c.mix.Channels * c.mix.Members }

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
