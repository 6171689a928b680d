package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/processor"
	queryv1 "github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// busy is the load of the bench locks.
type busy struct {
	mixes    []traffic.Mix
	warm     int           // events folded before the measurement
	rate     int           // events per second, beside the queries
	lasts    time.Duration // duration of the queries
	crowd    int           // members of a channel
	messages int           // in it
	wide     int           // channels of a user
	followed int           // threads that a user follows, in threadChannels channels
	calls    int           // timed calls of each kind
}

// Locks measures for how long the lock of a partition is held, by cause, while mixes A to C are
// folded and all queries run. It also measures GetThreads of many threads, and GetReceipts in a
// large channel, beside a cut too. It runs on the brokers of env, or on an embedded one.
func Locks(ctx context.Context, env Env) ([]gauge.Result, error) {
	return locksOn(ctx, env, busy{
		mixes: []traffic.Mix{traffic.Mixes["A"], traffic.Mixes["B"], traffic.Mixes["C"]}, warm: 400_000, rate: 5_000, lasts: 20 * time.Second,
		crowd: 100_000, messages: 1_000, wide: 10_000, followed: 10_000, calls: 400,
	})
}

func locksOn(ctx context.Context, env Env, b busy) (out []gauge.Result, err error) {
	env, stop, err := env.embedded()
	if err != nil {
		return nil, err
	}
	defer stop()
	for i, mix := range b.mixes {
		err := on(ctx, env, mix, func(s *stage) error {
			rs, err := s.locks(ctx, b, i == len(b.mixes)-1)
			out = append(out, rs...)
			return err
		})
		if err != nil {
			return out, fmt.Errorf("mix %s: %w", mix.Name, err)
		}
	}
	return out, nil
}

// asked is a node under all kinds of queries.
type asked struct {
	*server
	busy
	holds    *holds
	registry *prometheus.Registry
	queries  queryv1connect.QueryServiceClient
	rng      *rand.Rand
}

// crowdChannel is the channel of many members, wideUser is in many channels, follower follows many
// threads.
const crowdChannel, wideUser, follower = "crowd", "wide", "follower"

// locks measures on a stage. With last it also measures the duration of calls.
func (s *stage) locks(ctx context.Context, b busy, last bool) (out []gauge.Result, err error) {
	h, registry := &holds{}, prometheus.NewRegistry()
	s.tune = func(c *processor.Config) { c.OnHold, c.Registerer = h.on, registry }
	if err := s.write(ctx, b.warm); err != nil {
		return nil, err
	}
	sv, err := s.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sv.close()) }()
	a := &asked{
		server: sv, busy: b, holds: h, registry: registry, rng: rand.New(rand.NewPCG(6, 6)),
		queries: queryv1connect.NewQueryServiceClient(http.DefaultClient, sv.url),
	}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	s.env.report("mix %s: everything at once", s.mix.Name)
	h.reset()
	if err := a.everything(ctx); err != nil {
		return nil, err
	}
	out = h.results("mix " + s.mix.Name)
	if !last {
		return out, nil
	}
	ends, err := s.ends(ctx)
	if err == nil {
		err = sv.reach(ctx, ends) // so that the threads do not change between pages
	}
	if err != nil {
		return out, err
	}
	for _, f := range []func(context.Context) ([]gauge.Result, error){a.manyThreads, a.crowdReceipts, a.cutReceipts} {
		rs, err := f(ctx)
		if err != nil {
			return out, err
		}
		out = append(out, rs...)
	}
	return out, nil
}

// prepare makes the large channel, the user with many channels and the one with many threads.
func (a *asked) prepare(ctx context.Context) error {
	a.s.env.report("a channel of %d members, users with %d channels and %d threads", a.crowd, a.wide, a.followed)
	var all []proto.Message
	for i := 0; i < a.crowd; i += 1_000 {
		users := make([]string, min(1_000, a.crowd-i))
		for j := range users {
			users[j] = fmt.Sprintf("crowd-%d", i+j)
		}
		all = append(all, joins(crowdChannel, users...))
	}
	for i := range a.messages {
		all = append(all, posts(crowdChannel, fmt.Sprintf("m%d", i+1), "author", ""))
	}
	for i := range a.wide {
		all = append(all, joins(wideChannel(i), wideUser, "other"), posts(wideChannel(i), "m1", "other", ""))
	}
	for i := range a.followed {
		channel, root := threadOf(i)
		if i < threadChannels {
			all = append(all, joins(channel, follower, "other"))
		}
		all = append(all, posts(channel, root, "other", ""), posts(channel, root+"-1", "other", root, follower))
	}
	for range a.crowd {
		all = append(all, a.crowdRead())
	}
	after, err := a.write(ctx, all...)
	if err != nil {
		return err
	}
	_, err = a.queries.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: wideUser, After: after}))
	return err
}

// manyThreads measures each page of a user who follows many threads, and the holds of the lock for
// it.
func (a *asked) manyThreads(ctx context.Context) (out []gauge.Result, err error) {
	for _, size := range []int{50, 1_000} {
		a.s.env.report("GetThreads of %d threads, pages of %d", a.followed, size)
		a.holds.reset()
		token, listed := "", 0
		took, err := repeated(a.busy.calls, func() error {
			res, err := a.queries.GetThreads(ctx, connect.NewRequest(&queryv1.GetThreadsRequest{
				UserId: follower, PageSize: uint32(size), PageToken: token}))
			if err != nil {
				return err
			}
			if listed += len(res.Msg.Threads); res.Msg.NextPageToken == "" {
				if listed != a.followed {
					return fmt.Errorf("GetThreads: the pages list %d threads, want %d", listed, a.followed)
				}
				listed = 0
			}
			token = res.Msg.NextPageToken
			return nil
		})
		if err != nil {
			return nil, err
		}
		p50, p99, largest := gauge.Quantiles(took)
		cpu := a.holds.of("GetThreads").cpu.Read()
		out = append(out, gauge.Result{
			Name:  fmt.Sprintf("GetThreads, %d threads, any page of %d", a.followed, size),
			Goals: []gauge.Goal{gauge.AtMost("ms, p99", p99, 5), gauge.AtMost("ms of CPU time under the lock, longest", cpu.Largest, 1)},
			Note: fmt.Sprintf("p50 %.2f ms, largest %.1f ms of %d calls; under the lock p50 %.2f ms, p99.9 %.2f ms of CPU time in %d holds",
				p50, largest, len(took), cpu.P50, cpu.P999, cpu.N),
		})
	}
	return out, nil
}

// crowdReceipts measures the receipts of the newest message in the large channel while its members
// read.
func (a *asked) crowdReceipts(ctx context.Context) ([]gauge.Result, error) {
	const each, pause = 100, 20 * time.Millisecond
	a.s.env.report("GetReceipts in a channel of %d members who read", a.crowd)
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	g, reading := guard.WithContext(reading)
	g.Go("the members", func() error {
		for reading.Err() == nil {
			var all []proto.Message
			for range each {
				all = append(all, a.crowdRead())
			}
			if _, err := a.write(reading, all...); err != nil && !ended(reading, err) {
				return err
			}
			time.Sleep(pause)
		}
		return nil
	})
	a.holds.reset()
	took, err := repeated(a.busy.calls, func() error {
		return a.receiptsOf(ctx, fmt.Sprintf("m%d", a.messages), 50)
	})
	cancel()
	if err := errors.Join(err, g.Wait()); err != nil {
		return nil, err
	}
	p50, p99, largest := gauge.Quantiles(took)
	cpu := a.holds.of("GetReceipts").cpu.Read()
	return []gauge.Result{{
		Name:  fmt.Sprintf("GetReceipts, %d members who read: the newest message", a.crowd),
		Goals: []gauge.Goal{gauge.AtMost("ms, p99", p99, 20)},
		Note: fmt.Sprintf("p50 %.2f ms, largest %.1f ms of %d calls; longest hold %.2f ms of CPU time; %d reads every %v",
			p50, largest, len(took), cpu.Largest, each, pause),
	}}, nil
}
