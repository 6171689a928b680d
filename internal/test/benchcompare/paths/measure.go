package paths

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// binary is one of the two that are compared.
type binary struct {
	path  string
	flags flagSet
}

// measured is what a run of a line found.
type measured struct {
	gauge.Result
	redis float64 // bytes of its memory for each pair; 0 without the cache
	disk  float64 // bytes that the node wrote for each event, until it had stopped
}

// servers are those that all runs share.
type servers struct {
	brokers []string
	redis   string // URL
}

// measure runs a line. It writes the joins and the warm-up, and withholds the measured events. When
// the node and its cache have done all the others, it releases them.
func (v servers) measure(ctx context.Context, b binary, l line, share float64) (out measured, err error) {
	s, err := newStage(ctx, v.brokers, mixOf(l.mix, share))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.joins(ctx); err != nil {
		return out, err
	}
	if err := s.write(ctx, l.warm); err != nil {
		return out, err
	}
	before, err := s.ends(ctx, s.inputs())
	if err != nil {
		return out, err
	}
	release, err := s.withhold(ctx, l.events)
	if err != nil {
		return out, err
	}
	o, err := redis.ParseURL(v.redis)
	if err != nil {
		return out, fmt.Errorf("address of Redis: %w", err)
	}
	rdb := redis.NewClient(o)
	defer func() { err = errors.Join(err, rdb.Close()) }()
	return v.onStage(ctx, s, rdb, b, l, before, release)
}

// onStage starts the node, measures, and stops it.
func (v servers) onStage(ctx context.Context, s *stage, rdb *redis.Client, b binary, l line, before offsets, release func() error) (out measured, err error) {
	if err := empty(ctx, rdb); err != nil {
		return out, err
	}
	memory, err := usedMemory(ctx, rdb)
	if err != nil {
		return out, err
	}
	dir, err := os.MkdirTemp("", "benchcompare-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	listen, err := freeAddress()
	if err != nil {
		return out, err
	}
	group := s.prefix + "group"
	args, err := l.args(b.flags, place{brokers: strings.Join(v.brokers, ","), redis: v.redis, dir: dir, listen: listen, prefix: s.prefix, group: group})
	if err != nil {
		return out, err
	}
	n, err := start(ctx, b.path, args)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	// done waits until the node has folded and published ends, and its cache has written all of it.
	done := func(ends offsets) error {
		err := s.reach(ctx, n, group, ends)
		if err != nil || !l.cache {
			return err
		}
		if ends, err = s.ends(ctx, s.cached()); err != nil {
			return err
		}
		return s.reach(ctx, n, group+"-cache", ends)
	}
	if err := done(before); err != nil {
		return out, err
	}
	addrs := []string{v.brokers[0]}
	if l.cache {
		addrs = append(addrs, rdb.Options().Addr)
	}
	m, err := gauge.NewMeterOf(n.pid(), addrs...)
	if err != nil {
		return out, err
	}
	begun, err := gauge.Written(n.pid())
	if err != nil {
		return out, err
	}
	published, err := s.ends(ctx, s.cached())
	if err != nil {
		return out, err
	}
	m.Start()
	if err := release(); err != nil {
		return out, err
	}
	ends, err := s.ends(ctx, s.inputs()) // with the transaction's markers
	if err != nil {
		return out, err
	}
	if err := done(ends); err != nil {
		return out, err
	}
	out.Result = m.Stop(l.name, l.events)
	if ends, err = s.ends(ctx, s.cached()); err != nil {
		return out, err
	}
	out.Note += fmt.Sprintf("; %.2f deltas an event", float64(published.missing(ends))/float64(l.events))
	if l.cache {
		now, err := usedMemory(ctx, rdb)
		if err != nil {
			return out, err
		}
		out.redis = float64(now-memory) / float64(pairs(s.mix))
	}
	if err := n.stop(); err != nil {
		return out, err
	}
	out.disk = float64(written(n.cmd.ProcessState)-begun) / float64(l.events)
	return out, nil
}
