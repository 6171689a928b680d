package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// on runs f on a new stage with a mix.
func on(ctx context.Context, env Env, mix traffic.Mix, f func(*stage) error) error {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	s, err := newStage(ctx, env, mix)
	if err != nil {
		return err
	}
	err = f(s)
	debug.FreeOSMemory()
	return errors.Join(err, s.close(ctx))
}

// Live measures the whole path on a broker with mix B, 1 message to 15 reads, against the floor on
// the same events.
func Live(ctx context.Context, env Env) ([]gauge.Result, error) {
	const warm, n = 400_000, 1_600_000
	limit := projections.DefaultSettings().FanoutLimit
	var out []gauge.Result
	for i, l := range []struct {
		line
		times float64
	}{
		{line{"whole path, mix B, fan-out off", 0, false, warm, n}, 4},
		{line{fmt.Sprintf("whole path, mix B, fan-out %d", limit), limit, false, warm, n}, 12},
	} {
		err := on(ctx, env, traffic.Mixes["B"], func(s *stage) error {
			var floor gauge.Result
			res, err := s.measure(ctx, l.line, func(from, to map[int32]projections.Position) (err error) {
				rounds := 2
				if i == 0 {
					rounds = 4 // a JVM broker needs about 10 million records until its code is compiled
				}
				for range rounds {
					env.report("echo floor")
					if floor, err = s.echo(ctx, from, to); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			res.Goals = []gauge.Goal{gauge.AtMost("times the floor", res.CPU/floor.CPU, l.times)}
			out = append(out, floor, res)
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// Messages measures the whole path with mix A, messages only, against a sorted set of unread
// messages for each member.
func Messages(ctx context.Context, env Env) ([]gauge.Result, error) {
	limit := projections.DefaultSettings().FanoutLimit
	lines := []struct {
		line
		times float64
	}{
		{line{"whole path, mix A, fan-out off", 0, false, 200_000, 800_000}, 20},
		{line{fmt.Sprintf("whole path, mix A, fan-out %d", limit), limit, false, 150_000, 300_000}, 0},
		{line{fmt.Sprintf("whole path, mix A, fan-out %d, cache role", limit), limit, true, 150_000, 300_000}, 3},
	}
	var out []gauge.Result
	var sets float64
	for i, l := range lines {
		if env.Redis == "" && l.cache {
			continue
		}
		err := on(ctx, env, traffic.Mixes["A"], func(s *stage) error {
			res, err := s.measure(ctx, l.line, func(from, to map[int32]projections.Position) error {
				if env.Redis == "" || i > 0 {
					return nil
				}
				if _, err := s.echo(ctx, from, to); err != nil { // warms the broker if this bench runs alone
					return err
				}
				r, err := s.zset(ctx, 120_000, from, to)
				out, sets = append(out, r), r.CPU
				return err
			})
			if err != nil {
				return err
			}
			if sets > 0 && l.times > 0 {
				res.Goals = []gauge.Goal{gauge.AtLeast("times cheaper than the sorted sets", sets/res.CPU, l.times)}
			}
			out = append(out, res)
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// Growth measures the whole path with mix B, without fan-out, at 10,000 and at 5 million pairs: at
// full speed, and at a rate at which it keeps up.
func Growth(ctx context.Context, env Env) ([]gauge.Result, error) {
	fastest, err := grow(ctx, env, "as fast as it goes", func(s *stage, name string) (gauge.Result, error) {
		return s.measure(ctx, line{name, 0, false, 400_000, 1_200_000}, nil)
	})
	if err != nil {
		return fastest, err
	}
	const rate, seconds = 20_000, 20
	steady, err := grow(ctx, env, fmt.Sprintf("%d events a second", rate), func(s *stage, name string) (gauge.Result, error) {
		return s.steady(ctx, steadyLine{name, rate, seconds, 400_000})
	})
	return append(fastest, steady...), err
}

// grow measures with few and with many pairs.
func grow(ctx context.Context, env Env, how string, measure func(s *stage, name string) (gauge.Result, error)) (out []gauge.Result, err error) {
	for _, channels := range []int{200, 100_000} {
		mix := traffic.Mixes["B"]
		mix.Channels = channels
		err := on(ctx, env, mix, func(s *stage) error {
			res, err := measure(s, fmt.Sprintf("whole path, mix B, fan-out off, %s, %d pairs", how, channels*mix.Members))
			out = append(out, res)
			return err
		})
		if err != nil {
			return out, err
		}
	}
	last := &out[len(out)-1]
	last.Goals = []gauge.Goal{gauge.AtMost("times the first", last.CPU/out[0].CPU, 1.5)}
	return out, nil
}
