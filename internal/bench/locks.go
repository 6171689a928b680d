package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/bench/gauge"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// busy is the load of the bench locks.
type busy struct {
	mixes    []traffic.Mix
	warm     int           // events before
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
// large channel. It runs on the brokers of env, or on an embedded one.
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
	s.env.say("mix %s: everything at once", s.mix.Name)
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
	for _, f := range []func(context.Context) ([]gauge.Result, error){a.manyThreads, a.crowdReceipts} {
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
	a.s.env.say("a channel of %d members, users with %d channels and %d threads", a.crowd, a.wide, a.followed)
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

// threadChannels is the number of channels with threads of the user.
const threadChannels = 100

func threadOf(i int) (channel, root string) {
	return fmt.Sprintf("threads-%d", i%threadChannels), fmt.Sprintf("root-%d", i)
}

func wideChannel(i int) string { return fmt.Sprintf("wide-%d", i) }

// crowdRead returns a read by a member of the large channel.
func (a *asked) crowdRead() *eventsv1.ReadEvent {
	return traffic.Read(crowdChannel, fmt.Sprintf("crowd-%d", a.rng.IntN(a.crowd)), traffic.ReadSeq(1+a.rng.Uint32N(uint32(a.messages))))
}

// others returns events that a mix does not have: reads of the large channel, messages to the users
// of many channels and threads, and now and then the erasure of a member of the large channel.
func (a *asked) others(i int) (all []proto.Message) {
	for range 20 {
		all = append(all, a.crowdRead())
	}
	for j := range 10 {
		channel, root := threadOf(a.rng.IntN(a.followed))
		all = append(all, posts(wideChannel(a.rng.IntN(a.wide)), fmt.Sprintf("w-%d-%d", i, j), "other", ""),
			posts(channel, fmt.Sprintf("%s-%d-%d", root, i, j), "other", root))
	}
	if i%20 == 0 {
		all = append(all, posts(crowdChannel, fmt.Sprintf("again-%d", i), "author", ""),
			traffic.Read(crowdChannel, fmt.Sprintf("crowd-%d", a.rng.IntN(a.crowd)), &eventsv1.UserErased{}))
	}
	return all
}

// everything runs all queries for a while, beside the fold.
func (a *asked) everything(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.lasts)
	defer cancel()
	g, ctx := guard.WithContext(ctx)
	repeatedly := func(what string, pause time.Duration, f func(i int) error) {
		g.Go(what, func() error {
			for i := 0; ctx.Err() == nil; i++ {
				if err := f(i); err != nil && !ended(ctx, err) {
					return fmt.Errorf("%s: %w", what, err)
				}
				time.Sleep(pause)
			}
			return nil
		})
	}
	repeatedly("writing the mix", 0, func(int) error { return a.s.pace(ctx, a.rate, a.rate) })
	repeatedly("writing other events", 50*time.Millisecond, func(i int) error {
		_, err := a.write(ctx, a.others(i)...)
		return err
	})
	for _, c := range a.calls() {
		repeatedly(c.name, 20*time.Millisecond, func(i int) error { return c.ask(ctx, i) })
	}
	for _, user := range []string{wideUser, follower, traffic.UserID(0), traffic.UserID(1), "crowd-0", "crowd-1"} {
		repeatedly("watching", 10*time.Millisecond, func(int) error { return a.follow(ctx, user, a.lasts/10) })
	}
	repeatedly("metrics", 500*time.Millisecond, func(int) error {
		_, err := a.registry.Gather()
		return err
	})
	repeatedly("a copy of the store", time.Second, func(i int) error {
		dir := filepath.Join(a.dir, fmt.Sprintf("copy-%d", i))
		err := a.proc.Checkpoint(int32(i%livePartitions), dir)
		return errors.Join(err, os.RemoveAll(dir))
	})
	return g.Wait()
}

// call is one query.
type call struct {
	name string
	ask  func(ctx context.Context, i int) error
}

// calls returns all queries about the most expensive users and channels, and about those of the
// mix.
func (a *asked) calls() []call {
	mix, q := a.s.mix, a.queries
	someone := func(i int) (user, channel string) {
		c := i % mix.Channels
		return traffic.UserID(mix.Member(c, i%mix.Members)), traffic.ChannelID(c)
	}
	return []call{
		{"GetInbox", func(ctx context.Context, i int) error {
			user, _ := someone(i)
			if i%4 == 0 {
				user = wideUser
			}
			_, err := q.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: user}))
			return err
		}},
		{"GetThreads", func(ctx context.Context, _ int) error {
			_, err := q.GetThreads(ctx, connect.NewRequest(&queryv1.GetThreadsRequest{UserId: follower}))
			return err
		}},
		{"GetUnread", func(ctx context.Context, i int) error {
			user, channel := someone(i)
			_, err := q.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: user, ChannelId: channel}))
			return err
		}},
		{"GetChannel", func(ctx context.Context, i int) error {
			_, channel := someone(i)
			_, err := q.GetChannel(ctx, connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: channel}))
			return err
		}},
		{"GetReceipts", func(ctx context.Context, i int) error {
			return a.receiptsOf(ctx, fmt.Sprintf("m%d", 1+i*37%a.messages), uint32(50+i%2*950))
		}},
		{"GetReaders", func(ctx context.Context, i int) error {
			_, err := q.GetReaders(ctx, connect.NewRequest(&queryv1.GetReadersRequest{ChannelId: crowdChannel, PageSize: uint32(50 + i%2*950)}))
			return err
		}},
		{"ExplainUnread", func(ctx context.Context, i int) error {
			user, channel := someone(i)
			if i%2 == 0 {
				user, channel = fmt.Sprintf("crowd-%d", i%a.crowd), crowdChannel
			}
			_, err := q.ExplainUnread(ctx, connect.NewRequest(&queryv1.ExplainUnreadRequest{UserId: user, ChannelId: channel}))
			return err
		}},
		{"ListUserChannels", func(ctx context.Context, _ int) error {
			_, err := q.ListUserChannels(ctx, connect.NewRequest(&queryv1.ListUserChannelsRequest{OfUserId: wideUser}))
			return err
		}},
	}
}

func (a *asked) receiptsOf(ctx context.Context, message string, size uint32) error {
	_, err := a.queries.GetReceipts(ctx, connect.NewRequest(&queryv1.GetReceiptsRequest{
		ChannelId: crowdChannel, MessageId: message, PageSize: size}))
	return err
}

// follow watches a user for a while.
func (a *asked) follow(ctx context.Context, user string, lasts time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	stream, err := a.queries.WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: user}))
	if err == nil {
		for stream.Receive() {
			continue
		}
		err = errors.Join(stream.Err(), stream.Close())
	}
	if ended(ctx, err) {
		return nil
	}
	return err
}

// ended reports whether err is only the end of ctx, which a call may notice first.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || connect.CodeOf(err) == connect.CodeDeadlineExceeded
}

// manyThreads measures each page of a user who follows many threads, and the holds of the lock for
// it.
func (a *asked) manyThreads(ctx context.Context) (out []gauge.Result, err error) {
	for _, size := range []int{50, 1_000} {
		a.s.env.say("GetThreads of %d threads, pages of %d", a.followed, size)
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
					return fmt.Errorf("all pages together list %d threads, want %d", listed, a.followed)
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
	a.s.env.say("GetReceipts in a channel of %d members who read", a.crowd)
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
