package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/load"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// Env is what the benches of the whole path run on. Topics they make are deleted again; Redis is emptied.
type Env struct {
	Brokers  []string
	Redis    string
	Progress io.Writer
}

func (e Env) say(format string, args ...any) {
	if e.Progress != nil {
		fmt.Fprintf(e.Progress, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
	}
}

const livePartitions = 4

// stage is a mix in topics of its own, in two parts: the joins, and what is measured.
type stage struct {
	env    Env
	mix    load.Mix
	prefix string
	client *kgo.Client
	adm    *kadm.Client
	gen    *load.Generator
	// members of channels, as the sorted sets need them.
	members map[string][]string
}

func (s *stage) input(i events.Input) string { return s.prefix + events.InputTopics[i] }

func newStage(ctx context.Context, env Env, mix load.Mix) (*stage, error) {
	s := &stage{env: env, mix: mix, prefix: fmt.Sprintf("bench-%d-%s-", time.Now().UnixNano(), mix.Name), gen: load.New(mix),
		members: map[string][]string{}}
	var err error
	s.client, err = kgo.NewClient(kgo.SeedBrokers(env.Brokers...), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(64<<10), kgo.MaxBufferedRecords(200_000), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return nil, err
	}
	s.adm = kadm.NewClient(s.client)
	forever := map[string]*string{"retention.ms": kadm.StringPtr("-1")} // the events' times are long past
	for _, t := range s.topics() {
		if _, err := s.adm.CreateTopic(ctx, livePartitions, 1, forever, t); err != nil {
			return nil, fmt.Errorf("topic %s: %w", t, err)
		}
	}
	err = s.produce(ctx, func(emit func(*load.Event)) { s.gen.Joins(emit) })
	return s, err
}

func (s *stage) topics() []string {
	var out []string
	for _, t := range events.InputTopics {
		out = append(out, s.prefix+t)
	}
	for _, run := range []string{"off-", "on-"} {
		for _, t := range []string{events.TopicUnread, events.TopicChannels, events.TopicDeadLetters} {
			out = append(out, s.prefix+run+t)
		}
	}
	return append(out, s.prefix+"echo")
}

func (s *stage) close(ctx context.Context) {
	_, _ = s.adm.DeleteTopics(ctx, s.topics()...)
	s.client.Close()
}

// measured writes n events after the joins.
func (s *stage) measured(ctx context.Context, n int) error {
	s.env.say("writing %d events of mix %s", n, s.mix.Name)

	return s.produce(ctx, func(emit func(*load.Event)) {
		for range n {
			e := s.gen.Next()
			emit(&e)
		}
	})
}

func (s *stage) produce(ctx context.Context, each func(emit func(*load.Event))) error {
	var failed atomic.Pointer[error]
	each(func(e *load.Event) {
		topic := s.input(events.Messages)
		if e.Read {
			topic = s.input(events.Reads)
		}
		kv := make([]byte, 0, len(e.Key)+len(e.Value))
		kv = append(append(kv, e.Key...), e.Value...)
		s.client.Produce(ctx, &kgo.Record{
			Topic: topic, Partition: events.PartitionOf(e.Key, livePartitions), Timestamp: time.UnixMilli(e.Millis),
			Key: kv[:len(e.Key):len(e.Key)], Value: kv[len(e.Key):],
		}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		})
	})
	if err := s.client.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// ends are the ends of the input topics, by partition.
func (s *stage) ends(ctx context.Context) (map[int32]projections.Position, error) {
	out := map[int32]projections.Position{}
	for i := range events.InputTopics {
		l, err := s.adm.ListEndOffsets(ctx, s.input(events.Input(i)))
		if err != nil {
			return nil, err
		}
		l.Each(func(o kadm.ListedOffset) {
			p := out[o.Partition]
			p[i] = o.Offset
			out[o.Partition] = p
		})
	}
	return out, nil
}

// echo consumes the inputs from some positions and produces a record of the same size for each: the floor of what a
// consumer with outputs costs.
func (s *stage) echo(ctx context.Context, name string, from, to map[int32]projections.Position) (Result, error) {
	at := map[string]map[int32]kgo.Offset{}
	want := 0
	for i := range events.InputTopics {
		t := map[int32]kgo.Offset{}
		for p := range to {
			t[p] = kgo.NewOffset().At(from[p][i])
			want += int(to[p][i] - from[p][i])
		}
		at[s.input(events.Input(i))] = t
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.env.Brokers...), kgo.ConsumePartitions(at), kgo.FetchMaxWait(250*time.Millisecond),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	m, err := newMeter(s.env.Brokers[0])
	if err != nil {
		return Result{}, err
	}
	m.start()
	var acks sync.WaitGroup
	var failed atomic.Pointer[error]
	for got := 0; got < want; {
		f := client.PollRecords(ctx, 10_000)
		if err := f.Err(); err != nil {
			return Result{}, err
		}
		got += f.NumRecords()
		f.EachRecord(func(r *kgo.Record) {
			acks.Add(1)
			client.Produce(ctx, &kgo.Record{Topic: s.prefix + "echo", Partition: r.Partition, Key: r.Key, Value: r.Value},
				func(_ *kgo.Record, err error) {
					if err != nil {
						failed.CompareAndSwap(nil, &err)
					}
					acks.Done()
				})
		})
	}
	acks.Wait()
	if err := failed.Load(); err != nil {
		return Result{}, *err
	}
	return m.stop(name, want), nil
}

// run is a processor on the stage, and a cache role beside it if it has a Redis.
type run struct {
	s    *stage
	cfg  processor.Config
	rdb  *redis.Client
	ccfg cache.Config
}

func (s *stage) run(dir, outputs string, fanout uint32, withCache bool) (*run, error) {
	settings := projections.DefaultSettings()
	settings.FanoutLimit = fanout
	r := &run{s: s}
	r.cfg = processor.Config{
		Brokers: s.env.Brokers, Group: s.prefix + outputs + "group", DataDir: filepath.Join(dir, outputs),
		Settings: settings, MemTableSize: 16 << 20, Cache: pebble.NewCache(256 << 20),
	}
	for i := range events.InputTopics {
		r.cfg.Topics.Inputs[i] = s.input(events.Input(i))
	}
	out := s.prefix + outputs
	r.cfg.Topics.Unread, r.cfg.Topics.Channels = out+events.TopicUnread, out+events.TopicChannels
	r.cfg.Topics.DeadLetters = out + events.TopicDeadLetters
	if withCache {
		o, err := redis.ParseURL(s.env.Redis)
		if err != nil {
			return nil, err
		}
		r.rdb = redis.NewClient(o)
		r.ccfg = cache.Config{Brokers: s.env.Brokers, Group: s.prefix + outputs + "cache", Unread: r.cfg.Topics.Unread,
			Channels: r.cfg.Topics.Channels, Redis: r.rdb}
	}
	return r, nil
}

// upTo runs until the positions are folded, published and, with a cache, written to Redis. Once all partitions have come
// to first, it calls warm: what opening stores costs is over then.
func (r *run) upTo(ctx context.Context, first, to map[int32]projections.Position, warm func(now int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := processor.New(r.cfg)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	parts := 1
	go func() { ended <- p.Run(ctx) }()
	if r.rdb != nil {
		parts++
		c, err := cache.New(r.ccfg)
		if err != nil {
			return err
		}
		go func() { ended <- c.Run(ctx) }()
	}
	folded := func(to map[int32]projections.Position) error {
		for n := range to {
			for i, end := range to[n] {
				if end == 0 {
					continue
				}
				if err := wait(ctx, p, n, events.Input(i), end-1, ended); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if warm != nil {
		if err := folded(first); err != nil {
			return err
		}
		now := 0
		for _, st := range p.Status() {
			for _, at := range st.Position {
				now += int(at)
			}
		}
		warm(now)
	}
	if err := folded(to); err != nil {
		return err
	}
	if err := r.published(ctx, to); err != nil {
		return err
	}
	if r.rdb != nil {
		if err := r.cached(ctx); err != nil {
			return err
		}
	}
	cancel()
	for range parts {
		if err := <-ended; err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// wait waits for one record, however often the partition is not there yet.
func wait(ctx context.Context, p *processor.Processor, n int32, in events.Input, offset int64, ended chan error) error {
	for {
		switch err := p.Wait(ctx, n, in, offset); {
		case err == nil:
			return nil
		case !errors.Is(err, processor.ErrNotOwner) && !errors.Is(err, processor.ErrOpening) && ctx.Err() == nil:
			return err
		}
		select {
		case err := <-ended:
			return fmt.Errorf("ended early: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// published waits until the group has committed the positions: then all deltas are acknowledged.
func (r *run) published(ctx context.Context, to map[int32]projections.Position) error {
	return r.poll(ctx, func() (bool, error) {
		offsets, err := r.s.adm.FetchOffsets(ctx, r.cfg.Group)
		if err != nil {
			return false, err
		}
		for n := range to {
			for i, end := range to[n] {
				if o, ok := offsets.Lookup(r.cfg.Topics.Inputs[i], n); end > 0 && (!ok || o.At < end) {
					return false, nil
				}
			}
		}
		return true, nil
	})
}

// cached waits until the cache role has committed the ends of the outputs.
func (r *run) cached(ctx context.Context) error {
	return r.poll(ctx, func() (bool, error) {
		lag, err := r.s.adm.Lag(ctx, r.ccfg.Group)
		if err != nil {
			return false, err
		}
		l := lag[r.ccfg.Group]
		if l.FetchErr != nil || len(l.Lag) == 0 {
			return false, nil //nolint:nilerr // a group that has not committed yet is asked again
		}
		return l.Lag.Total() == 0, nil
	})
}

func (r *run) poll(ctx context.Context, done func() (bool, error)) error {
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// measure goes on, in the stores that hold the joins, with what is measured, of which the first fifth is warm-up.
func (r *run) measure(ctx context.Context, name string, from, to map[int32]projections.Position) (Result, error) {
	r.s.env.say("%s", name)
	servers := []string{r.s.env.Brokers[0]}
	if r.rdb != nil {
		servers = append(servers, r.rdb.Options().Addr)
		defer func() { _ = r.rdb.Close() }() // everything was answered
		if err := r.rdb.FlushAll(ctx).Err(); err != nil {
			return Result{}, err
		}
	}
	m, err := newMeter(servers...)
	if err != nil {
		return Result{}, err
	}
	first, end := map[int32]projections.Position{}, 0
	for n := range to {
		p := from[n]
		for i := range p {
			p[i] += (to[n][i] - p[i]) / 5
			end += int(to[n][i])
		}
		first[n] = p
	}
	began, out := 0, int64(0)
	// A profile tells the lines apart by this label.
	pprof.Do(ctx, pprof.Labels("line", name), func(ctx context.Context) {
		err = r.upTo(ctx, first, to, func(now int) { began, out = now, r.outputs(ctx); m.start() })
	})
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", name, err)
	}
	res := m.stop(name, end-began)
	res.Note += fmt.Sprintf("; %.1f records out an event", float64(r.outputs(ctx)-out)/float64(end-began))
	return res, nil
}

// outputs is how many records were published so far; what cannot be asked counts as none, the figure is for information.
func (r *run) outputs(ctx context.Context) (n int64) {
	ends, err := r.s.adm.ListEndOffsets(ctx, r.cfg.Topics.Unread, r.cfg.Topics.Channels)
	if err != nil {
		return 0
	}
	ends.Each(func(o kadm.ListedOffset) { n += max(o.Offset, 0) })
	return n
}

// Live measures the whole path on a broker with mix B: 1 message to 15 reads.
func Live(ctx context.Context, env Env) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := newStage(ctx, env, load.Mixes["B"])
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	from, err := s.ends(ctx)
	if err != nil {
		return nil, err
	}
	runs := map[string]uint32{"off-": 0, "on-": projections.DefaultSettings().FanoutLimit}
	for outputs, limit := range runs {
		if err := s.prepare(ctx, dir, outputs, limit, false, from); err != nil {
			return nil, err
		}
	}
	if err := s.measured(ctx, 2_000_000); err != nil {
		return nil, err
	}
	to, err := s.ends(ctx)
	if err != nil {
		return nil, err
	}
	for i := range 3 {
		env.say("warming the broker, %d of 3", i+1)
		if _, err := s.echo(ctx, "", from, to); err != nil {
			return nil, err
		}
	}
	floor, err := s.echo(ctx, "echo floor, mix B", from, to)
	if err != nil {
		return nil, err
	}
	out := []Result{floor}
	for _, c := range []struct{ outputs, name string }{{"off-", "whole path, mix B, fan-out off"}, {"on-", "whole path, mix B, fan-out 50"}} {
		r, err := s.run(dir, c.outputs, runs[c.outputs], false)
		if err != nil {
			return out, err
		}
		res, err := r.measure(ctx, c.name, from, to)
		if err != nil {
			return out, err
		}
		res.Note = fmt.Sprintf("%.1f times the floor; %s", res.CPU/floor.CPU, res.Note)
		out = append(out, res)
	}
	return out, nil
}

// prepare folds the joins.
func (s *stage) prepare(ctx context.Context, dir, outputs string, limit uint32, withCache bool, joins map[int32]projections.Position) error {
	s.env.say("joining %d pairs, fan-out %d", s.mix.Channels*s.mix.Members, limit)
	r, err := s.run(dir, outputs, limit, withCache)
	if err != nil {
		return err
	}
	if r.rdb != nil {
		defer func() { _ = r.rdb.Close() }() // everything was answered
	}
	return r.upTo(ctx, nil, joins, nil)
}

// Messages measures the whole path with mix A: messages only, against a sorted set of unread messages for each member.
func Messages(ctx context.Context, env Env) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := newStage(ctx, env, load.Mixes["A"])
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	from, err := s.ends(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, dir, "off-", 0, false, from); err != nil {
		return nil, err
	}
	withRedis := env.Redis != ""
	if err := s.prepare(ctx, dir, "on-", 50, withRedis, from); err != nil {
		return nil, err
	}
	if err := s.measured(ctx, 1_000_000); err != nil {
		return nil, err
	}
	to, err := s.ends(ctx)
	if err != nil {
		return nil, err
	}
	var out []Result
	var zset Result
	if withRedis {
		if zset, err = s.zset(ctx, 120_000, from, to); err != nil {
			return nil, err
		}
		out = append(out, zset)
	}
	for _, c := range []struct {
		outputs, name string
		limit         uint32
		cache         bool
	}{{"off-", "whole path, mix A, fan-out off", 0, false}, {"on-", "whole path, mix A, fan-out 50, with the cache role", 50, withRedis}} {
		r, err := s.run(dir, c.outputs, c.limit, c.cache)
		if err != nil {
			return out, err
		}
		res, err := r.measure(ctx, c.name, from, to)
		if err != nil {
			return out, err
		}
		if zset.CPU > 0 {
			res.Note = fmt.Sprintf("%.1f times cheaper than the sorted sets; %s", zset.CPU/res.CPU, res.Note)
		}
		out = append(out, res)
	}
	return out, nil
}
