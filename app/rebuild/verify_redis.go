package rebuild

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// While no node folds, a value in Redis that differs from the stores is wrong, or a cache is
// behind. While a node runs, Redis may also be newer than the copies of the stores, and not every
// value in it has a stamp that shows this; and it is always slightly behind. So differences are
// then checked again with newer copies: a wrong value stays the same, and an early or late value
// does not.
//
// The store of a partition that has moved away may be far behind Redis. Stamps show this, for a day
// also those of values that were removed from Redis. Only the log has the later ones. So a
// difference in an unused store is checked once more, with the store folded on to the end of the
// log.

const (
	// maxConfirmed is how many differences are confirmed by a second check; more differences are
	// reported unconfirmed.
	maxConfirmed = 10_000
	// confirmations is how often a difference must be seen again, and confirmAfter is the time that
	// a cache gets to follow.
	confirmations = 3
	confirmAfter  = time.Second
)

// compareRedis compares Redis with the rebuilt stores.
func (v *verification) compareRedis(ctx context.Context, list []processor.Rebuilt) error {
	kept, err := v.redisPass(ctx, list, nil)
	if err != nil {
		return err
	}
	first := v.redis
	out := first.out
	if v.Checkpoint == nil && len(kept) > 0 && out.Differences <= maxConfirmed {
		before := values(kept)
		if kept, err = v.settle(ctx, list, kept); err != nil {
			return err
		}
		out.Newer += before - values(kept)
		out.Differences = len(kept)
	}
	for range confirmations {
		if v.Checkpoint == nil || len(kept) == 0 || out.Differences > maxConfirmed {
			break
		}
		select {
		case <-time.After(confirmAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
		// Redis has late values by now. This check costs as many queries as there are differences.
		now, err := v.redisPass(ctx, list, placesOf(kept))
		if err != nil {
			return err
		}
		if kept = both(kept, now); len(kept) > 0 { // or Redis was early
			if list, err = v.retry(ctx, list, kept); err != nil {
				return err
			}
			if now, err = v.redisPass(ctx, list, placesOf(kept)); err != nil {
				return err
			}
			kept = both(kept, now)
		}
		out.Differences = len(kept)
	}
	if len(kept) > 0 && out.Differences <= maxConfirmed {
		late, err := v.late(ctx, kept)
		if err != nil {
			return err
		}
		before := values(kept)
		kept = slices.DeleteFunc(kept, func(d Difference) bool { return late[d.record()] })
		out.Late = before - values(kept)
		out.Differences = len(kept)
		if len(kept) == 0 {
			first.wrong = nil // nothing is repaired, because the cache continues
		}
	}
	v.redis, v.res.Redis = first, out
	for _, d := range kept {
		v.res.add(v.Limit, d)
	}
	v.res.Total += out.Differences - len(kept) // differences beyond maxConfirmed
	return nil
}

// settle keeps only differences that remain if the rebuilt stores are folded on to the current end
// of the log, and only these are repaired. It folds copies, because a store that replaces another
// must not be further than the replaced one.
func (v *verification) settle(ctx context.Context, list []processor.Rebuilt, kept []Difference) ([]Difference, error) {
	dir := filepath.Join(filepath.Dir(v.rebuilt), "further")
	if err := private.MkdirAll(dir); err != nil {
		return nil, err
	}
	var numbers []int32
	for _, r := range list {
		if !slices.ContainsFunc(kept, func(d Difference) bool { return d.Partition == r.Partition }) {
			continue
		}
		if err := copyStopped(r.Dir, processor.StoreDir(dir, r.Partition)); err != nil {
			return nil, err
		}
		numbers = append(numbers, r.Partition)
	}
	further, err := v.fold(ctx, dir, numbers, nil, true)
	if err != nil {
		return nil, err
	}
	first := v.redis
	now, err := v.redisPass(ctx, further, placesOf(kept))
	if err != nil {
		return nil, err
	}
	settled := both(kept, now)
	all := true
	for _, r := range further {
		if r.Err != nil { // if this build cannot fold the rest of the log, report the differences as they are
			all = false
			settled = append(settled, slices.DeleteFunc(slices.Clone(kept), func(d Difference) bool { return d.Partition != r.Partition })...)
		}
	}
	if all {
		first.onlyWrong(v.redis.wrong)
	}
	v.redis = first
	return settled, nil
}

// copyStopped copies a store that no process uses, by hard links.
func copyStopped(dir, to string) error {
	stopped, err := projections.OpenStopped(dir, nil)
	if err != nil {
		return err
	}
	return errors.Join(stopped.Checkpoint(to), stopped.Close())
}

// retry takes new copies of the stores with differences, and continues the rebuild up to them.
func (v *verification) retry(ctx context.Context, list []processor.Rebuilt, kept []Difference) ([]processor.Rebuilt, error) {
	if err := os.RemoveAll(v.copies); err != nil {
		return nil, err
	}
	var good []int32
	for _, r := range list {
		if r.Err == nil && slices.ContainsFunc(kept, func(d Difference) bool { return d.Partition == r.Partition }) {
			good = append(good, r.Partition)
		}
	}
	if _, err := v.copy(ctx, good); err != nil {
		return nil, err
	}
	return v.rebuild(ctx, good, true)
}

// redisPass compares Redis with the rebuilt stores as they are now: all of it, or only places with
// differences.
func (v *verification) redisPass(ctx context.Context, list []processor.Rebuilt, only map[int32]*places) ([]Difference, error) {
	var err error
	if v.redis, err = newRedisCheck(ctx, &v.Config, only); err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.Err != nil || only != nil && only[r.Partition] == nil {
			continue // the reason why this partition is not compared is reported, or it has no difference
		}
		if err := v.redisPartition(ctx, r); err != nil {
			return nil, err
		}
	}
	err = v.redis.strays(ctx)
	return v.redis.found, err
}

func (v *verification) redisPartition(ctx context.Context, r processor.Rebuilt) (err error) {
	want, err := projections.Open(r.Dir, r.Identity, projections.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, want.Close()) }()
	return v.redis.partition(ctx, r.Partition, want)
}

// values counts the channels, users in channels, and users in threads of differences.
func values(list []Difference) int {
	type value struct{ channel, user, thread string }
	seen := map[value]bool{}
	for _, d := range list {
		seen[value{d.Channel, d.User, d.thread}] = true
	}
	return len(seen)
}

// both returns the differences of a that are also in b: the same value at the same place, whatever
// the expected value is.
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
