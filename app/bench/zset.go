package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// zset measures the design that Tidemark is compared with: a sorted set of unread message ids for
// each user and channel. It splits the first n messages into chunks with an equal share of each
// partition. The messages of one channel in a chunk become one ZADD and one EXPIRE for each member.
// Nobody reads, so the sets grow, and with them the cost of an entry. The first half is warm-up.
func (s *stage) zset(ctx context.Context, n int, from, to map[int32]projections.Position) (gauge.Result, error) {
	s.env.report("sorted sets, %d messages", n)
	o, err := redis.ParseURL(s.env.Redis)
	if err != nil {
		return gauge.Result{}, err
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }() // every command was answered
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		return gauge.Result{}, err
	}
	var feeds []*kgo.Client // of one partition each
	defer func() {
		for _, f := range feeds {
			f.Close()
		}
	}()
	for p := range to {
		at := map[int32]kgo.Offset{p: kgo.NewOffset().At(from[p][events.Messages])}
		feed, err := kgo.NewClient(kgo.SeedBrokers(s.env.Brokers...), kgo.FetchMaxWait(250*time.Millisecond),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.input(events.Messages): at}))
		if err != nil {
			return gauge.Result{}, err
		}
		feeds = append(feeds, feed)
	}
	m, err := gauge.NewMeter(s.env.Brokers[0], o.Addr)
	if err != nil {
		return gauge.Result{}, err
	}
	var chunk []*kgo.Record
	var measured, commands int
	for done := 0; done < n; done += len(chunk) {
		if measured == 0 && done >= n/2 {
			measured, commands = done, 0
			m.Start()
		}
		chunk = chunk[:0]
		for i, feed := range feeds {
			for share := (i + 1) * zsetChunk / len(feeds); len(chunk) < share; {
				f := feed.PollRecords(ctx, share-len(chunk))
				if err := f.Err(); err != nil {
					return gauge.Result{}, err
				}
				chunk = append(chunk, f.Records()...)
			}
		}
		k, err := s.zadd(ctx, rdb, chunk)
		if err != nil {
			return gauge.Result{}, err
		}
		commands += k
	}
	measured = n - measured
	r := m.Stop("coalesced sorted sets, mix A", measured)
	r.Note += fmt.Sprintf("; %.1f commands a message", float64(commands)/float64(measured))
	return r, rdb.FlushAll(ctx).Err()
}

// zsetChunk is how many messages are coalesced: larger chunks cost less and delay more.
const zsetChunk = 10_000

// zadd writes one chunk, in pipelines of 1,000 commands, two at a time, and returns how many
// commands that took.
func (s *stage) zadd(ctx context.Context, rdb *redis.Client, recs []*kgo.Record) (commands int, err error) {
	var d events.Decoder
	var e events.Message
	chunk := map[string][]redis.Z{}
	for _, r := range recs {
		if err := d.Message(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
			return 0, err
		}
		id := string(e.ChannelID)
		chunk[id] = append(chunk[id], redis.Z{Score: float64(e.OccurredAt), Member: string(e.MessageID)})
	}
	pipes := make(chan redis.Pipeliner)
	writing, ctx := errgroup.WithContext(ctx)
	for range 2 {
		writing.Go(func() error {
			for p := range pipes {
				if _, err := p.Exec(ctx); err != nil {
					return fmt.Errorf("sorted sets: %w", err)
				}
			}
			return nil
		})
	}
	writing.Go(func() error {
		defer close(pipes)
		pipe := rdb.Pipeline()
		flush := func() error {
			select {
			case pipes <- pipe:
				pipe = rdb.Pipeline()
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for id, z := range chunk {
			for _, user := range s.membersOf(id) {
				key := "unread:" + user + ":" + id
				pipe.ZAdd(ctx, key, z...)
				pipe.Expire(ctx, key, 30*24*time.Hour)
				commands += 2
				if pipe.Len() >= 1_000 {
					if err := flush(); err != nil {
						return err
					}
				}
			}
		}
		return flush()
	})
	err = writing.Wait()
	return commands, err
}

// membersOf returns the users of a channel of the mix.
func (s *stage) membersOf(channel string) []string {
	if known, ok := s.members[channel]; ok {
		return known
	}
	var c int
	if _, err := fmt.Sscanf(channel, "chn_%d", &c); err != nil {
		return nil // not one of the mix
	}
	users := make([]string, s.mix.Members)
	for j := range users {
		users[j] = traffic.UserID(s.mix.Member(c, j))
	}
	s.members[channel] = users
	return users
}
