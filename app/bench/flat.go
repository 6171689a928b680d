package bench

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/processor"
)

// Flat compares the whole path with mix B, without fan-out, over 4 and over 256 partitions, and with
// 1, 2 and 4 members of the group in this process: as fast as it goes, and at a rate at which it
// keeps up. It runs on the brokers of env, or on an embedded one.
func Flat(ctx context.Context, env Env) ([]gauge.Result, error) {
	return flatOn(ctx, env, flat{
		mix: traffic.Mixes["B"], few: livePartitions, many: 256, warm: 400_000, events: 1_200_000, rounds: 3, rate: 20_000, seconds: 10,
	})
}

// flat is the size of the bench flat.
type flat struct {
	mix           traffic.Mix
	few, many     int32 // partitions
	warm, events  int
	rounds        int
	rate, seconds int
}

// flatMemory is what a process with all partitions has for them.
const flatMemory config.Bytes = 4 << 30

func flatOn(ctx context.Context, env Env, f flat) ([]gauge.Result, error) {
	env, stop, err := env.embedded()
	if err != nil {
		return nil, err
	}
	defer stop()
	wide := env
	env.partitions, wide.partitions = f.few, f.many
	var out []gauge.Result
	err = on(ctx, env, f.mix, func(few *stage) error {
		return on(ctx, wide, f.mix, func(many *stage) error {
			// The first round warms the broker, and is not counted.
			fastest, err := compare(few, many, f.rounds, 1, "as fast as it goes", func(s *stage, name string) (gauge.Result, error) {
				return s.measure(ctx, line{name, 0, false, f.warm, f.events}, nil)
			})
			if err != nil {
				return err
			}
			steady, err := compare(few, many, f.rounds, 0, fmt.Sprintf("%d events a second", f.rate), func(s *stage, name string) (gauge.Result, error) {
				return s.steady(ctx, steadyLine{name, f.rate, f.seconds, 0})
			})
			out = append(fastest, steady...)
			return err
		})
	})
	return out, err
}

// compare measures rounds by turns, after some that it does not count.
func compare(few, many *stage, rounds, uncounted int, how string, measure func(s *stage, name string) (gauge.Result, error)) (out []gauge.Result, err error) {
	lines := []struct {
		on      *stage
		members int
		limit   float64
	}{{few, 1, 0}, {many, 1, 1.2}, {few, 2, 1.15}, {few, 4, 1.15}}
	all, last := make([]gauge.Rounds, len(lines)), make([]gauge.Result, len(lines))
	for round := range uncounted + rounds {
		for i, l := range lines {
			if err := l.on.as(l.members); err != nil {
				return nil, err
			}
			name := fmt.Sprintf("whole path, mix %s, fan-out off, %s, %d partitions, %d members", l.on.mix.Name, how, l.on.partitions(), l.members)
			if last[i], err = measure(l.on, name); err != nil {
				return nil, err
			}
			if round >= uncounted {
				all[i] = append(all[i], last[i].CPU)
			}
		}
	}
	for i, l := range lines {
		r := all[i].Result(last[i].Name)
		r.Rate, r.Note = last[i].Rate, r.Note+"; broker and all members together; the last round: "+last[i].Note
		if l.limit > 0 {
			r.Goals = []gauge.Goal{gauge.AtMost("times the first", r.CPU/out[0].CPU, l.limit)}
		}
		out = append(out, r)
	}
	return out, nil
}

// as sets the number of members, and gives each of them the shares of memory that a node has.
func (s *stage) as(members int) error {
	shares, err := config.PlanMemory(flatMemory, s.partitions())
	if err != nil {
		return err
	}
	s.others = members - 1
	s.tune = func(c *processor.Config) {
		c.Cache.Unref()
		c.Cache = pebble.NewCache(int64(shares.Cache))
		c.MemTableSize, c.QueueBytes = uint64(shares.MemTable), int64(shares.Queue)
		c.CutBytes, c.HotBytes, c.UndrainedPairs = int64(shares.Dirty), int64(shares.Hot), shares.Undrained
		c.NearRecords = 1 << 40 // partitions move at once to members that join
	}
	return nil
}
