package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// run is a processor on a stage, and a cache role beside it if it has a Redis.
type run struct {
	s     *stage
	dir   string
	cfg   processor.Config
	rdb   *redis.Client
	group string // of the cache

	proc   *processor.Processor
	cancel context.CancelFunc
	parts  int
	ended  chan error // one for each part
}

// start begins to fold the inputs. With a cache it empties Redis first.
func (s *stage) start(ctx context.Context, fanout uint32, withCache bool) (_ *run, err error) {
	r := &run{s: s, group: s.prefix + "cache", ended: make(chan error, 2)}
	ctx, r.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	if r.dir, err = os.MkdirTemp("", "tidemark-bench-"); err != nil {
		return nil, err
	}
	r.cfg = s.processor(r.dir, fanout)
	if r.proc, err = processor.New(r.cfg); err != nil {
		return nil, err
	}
	if withCache {
		if err := r.startCache(ctx); err != nil {
			return nil, err
		}
	}
	r.parts++
	go func() { r.ended <- r.proc.Run(ctx) }()
	return r, nil
}

// startCache runs a cache role too, until stop or until ctx is done. Redis is emptied.
func (r *run) startCache(ctx context.Context) error {
	o, err := redis.ParseURL(r.s.env.Redis)
	if err != nil {
		return err
	}
	r.rdb = redis.NewClient(o)
	if err := r.rdb.FlushAll(ctx).Err(); err != nil {
		return err
	}
	c, err := cache.New(cache.Config{Brokers: r.s.env.Brokers, Group: r.group, Unread: r.cfg.Topics.Unread,
		Channels: r.cfg.Topics.Channels, Redis: r.rdb, CommitEvery: 200 * time.Millisecond}) // which reach waits for
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	others := r.cancel
	r.cancel = func() { cancel(); others() }
	r.parts++
	go func() { r.ended <- c.Run(ctx) }()
	return nil
}

// stop ends everything and removes the stores.
func (r *run) stop() (err error) {
	r.cancel()
	for range r.parts {
		if e := <-r.ended; !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}
	if r.rdb != nil {
		err = errors.Join(err, r.rdb.Close())
	}
	if r.cfg.Cache != nil {
		r.cfg.Cache.Unref()
	}
	if r.dir != "" {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}

// reach waits until the positions are folded and published and, with a cache, written to Redis.
func (r *run) reach(ctx context.Context, to map[int32]projections.Position) error {
	err := r.poll(ctx, func() (bool, error) {
		offsets, err := r.s.adm.FetchOffsets(ctx, r.cfg.Group)
		if err != nil {
			return false, err
		}
		for n := range to {
			for i, end := range to[n] {
				// A partition commits what the brokers have acknowledged.
				if o, ok := offsets.Lookup(r.cfg.Topics.Inputs[i], n); end > 0 && (!ok || o.At < end) {
					return false, nil
				}
			}
		}
		return true, nil
	})
	if err != nil || r.rdb == nil {
		return err
	}
	return r.poll(ctx, func() (bool, error) {
		lag, err := r.s.adm.Lag(ctx, r.group)
		if err != nil {
			return false, err
		}
		l := lag[r.group]
		return l.FetchErr == nil && len(l.Lag) > 0 && l.Lag.Total() == 0, nil
	})
}

func (r *run) poll(ctx context.Context, done func() (bool, error)) error {
	for {
		ok, err := done()
		if kerr.IsRetriable(err) || errors.Is(err, kerr.GroupIDNotFound) { // a coordinator or a group that does not exist yet
			ok, err = false, nil
		}
		if ok || err != nil {
			return err
		}
		for _, st := range r.proc.Status() {
			if st.Err != nil {
				return st.Err
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case err := <-r.ended:
			r.parts--
			return fmt.Errorf("ended early: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// line is one measurement of the whole path.
type line struct {
	name    string
	fanout  uint32
	cache   bool
	warm, n int // events before and while it is measured
}

// measure runs l on a stage with its joins. Once everything is folded, published and cached, it
// calls before, and then releases all measured events at once.
func (s *stage) measure(ctx context.Context, l line, before func(from, to map[int32]projections.Position) error) (res gauge.Result, err error) {
	if err := s.write(ctx, l.warm); err != nil {
		return gauge.Result{}, err
	}
	from, err := s.ends(ctx)
	if err != nil {
		return gauge.Result{}, err
	}
	release, err := s.withhold(ctx, l.n)
	if err != nil {
		return gauge.Result{}, err
	}
	to, err := s.ends(ctx)
	if err != nil {
		return gauge.Result{}, err
	}
	if before != nil {
		if err := before(from, to); err != nil {
			return gauge.Result{}, err
		}
	}
	// Profiles distinguish the lines by this label.
	pprof.Do(ctx, pprof.Labels("line", l.name), func(ctx context.Context) { res, err = s.measured(ctx, l, from, release) })
	if err != nil {
		return gauge.Result{}, fmt.Errorf("%s: %w", l.name, err)
	}
	return res, nil
}

// meter measures this process, the broker and other servers.
func (s *stage) meter(servers ...string) (*gauge.Meter, error) {
	if !s.env.inProcess {
		servers = append(servers, s.env.Brokers[0])
	}
	return gauge.NewMeter(servers...)
}

func (s *stage) measured(ctx context.Context, l line, from map[int32]projections.Position, release func() error) (_ gauge.Result, err error) {
	s.env.report("%s: joins and warm-up", l.name)
	r, err := s.start(ctx, l.fanout, l.cache)
	if err != nil {
		return gauge.Result{}, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	var servers []string
	if r.rdb != nil {
		servers = append(servers, r.rdb.Options().Addr)
	}
	m, err := s.meter(servers...)
	if err != nil {
		return gauge.Result{}, err
	}
	leave, err := s.join(ctx)
	if err != nil {
		return gauge.Result{}, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	if err := r.reach(ctx, from); err != nil {
		return gauge.Result{}, err
	}
	out, err := s.outputs(ctx)
	if err != nil {
		return gauge.Result{}, err
	}
	s.env.report("%s: measuring", l.name)
	m.Start()
	if err := release(); err != nil {
		return gauge.Result{}, err
	}
	to, err := s.ends(ctx) // with the transaction's markers
	if err != nil {
		return gauge.Result{}, err
	}
	if err := r.reach(ctx, to); err != nil {
		return gauge.Result{}, err
	}
	res := m.Stop(l.name, l.n)
	now, err := s.outputs(ctx)
	res.Note += fmt.Sprintf("; %.2f records out an event", float64(now-out)/float64(l.n))
	return res, err
}
