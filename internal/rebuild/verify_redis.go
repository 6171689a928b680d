package rebuild

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// While nothing is folded, a value in Redis that is not what the stores say is wrong, or a cache is behind. While a node
// runs there is more: what Redis holds may be newer than the copies of the stores, and not everything in it has a stamp that
// says so; and it is always a little behind. So what was found then is looked at again, with newer copies: a value that is
// wrong stays what it is, and one that was only early or late does not.

const (
	// maxConfirmed is how many differences are kept to be confirmed; where there are more, they are told as they are.
	maxConfirmed = 10_000
	// confirmations is how often a difference must be seen again, and confirmAfter what a cache is given to follow.
	confirmations = 3
	confirmAfter  = time.Second
)

// compareRedis compares Redis with the rebuilt stores.
func (v *verification) compareRedis(ctx context.Context, list []processor.Rebuilt) error {
	kept, err := v.redisPass(ctx, list)
	if err != nil {
		return err
	}
	out := v.redis.out
	for range confirmations {
		if v.Checkpoint == nil || len(kept) == 0 || out.Differences > maxConfirmed {
			break
		}
		select {
		case <-time.After(confirmAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := v.again(ctx, list)
		if err != nil {
			return err
		}
		kept = both(kept, now)
		out.Differences = len(kept)
	}
	v.res.Redis = out
	for _, d := range kept {
		v.res.add(v.Limit, d)
	}
	v.res.Total += out.Differences - len(kept) // those beyond maxConfirmed
	return nil
}

// again takes new copies of the stores, goes on rebuilding up to them, and compares Redis with that.
func (v *verification) again(ctx context.Context, list []processor.Rebuilt) ([]Difference, error) {
	if err := os.RemoveAll(v.copies); err != nil {
		return nil, err
	}
	if _, err := v.copy(ctx); err != nil {
		return nil, err
	}
	var good []int32
	for _, r := range list {
		if r.Err == nil {
			good = append(good, r.Partition)
		}
	}
	next, err := v.rebuild(ctx, good, true)
	if err != nil {
		return nil, err
	}
	return v.redisPass(ctx, next)
}

// redisPass compares Redis with the rebuilt stores as they are now.
func (v *verification) redisPass(ctx context.Context, list []processor.Rebuilt) ([]Difference, error) {
	var err error
	if v.redis, err = newRedisCheck(ctx, &v.Config); err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.Err != nil {
			continue // it was said why this partition is not compared
		}
		if err := v.redisPartition(ctx, r); err != nil {
			return nil, err
		}
	}
	return v.redis.found, v.redis.strays(ctx)
}

func (v *verification) redisPartition(ctx context.Context, r processor.Rebuilt) (err error) {
	want, err := projections.Open(r.Dir, r.Identity, projections.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, want.Close()) }()
	return v.redis.partition(ctx, r.Partition, want)
}

// both are those differences of a that are in b too: the same value at the same place, whatever it should be.
func both(a, b []Difference) (kept []Difference) {
	type place struct {
		partition                int32
		channel, user, field, is string
	}
	of := func(d Difference) place { return place{d.Partition, d.Channel, d.User, d.Field, d.Is} }
	seen := map[place]bool{}
	for _, d := range b {
		seen[of(d)] = true
	}
	for _, d := range a {
		if seen[of(d)] {
			kept = append(kept, d)
		}
	}
	return kept
}
