package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// zset is the design that Tidemark is compared with: a sorted set of unread message ids for each user and channel. Of
// the n first messages, those of one channel in a chunk share one ZADD and one EXPIRE for each member.
func (s *stage) zset(ctx context.Context, n int, from, to map[int32]projections.Position) (Result, error) {
	s.env.say("sorted sets, %d messages", n)
	o, err := redis.ParseURL(s.env.Redis)
	if err != nil {
		return Result{}, err
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }() // everything was answered
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		return Result{}, err
	}
	at := map[int32]kgo.Offset{}
	for p := range to {
		at[p] = kgo.NewOffset().At(from[p][events.Messages])
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.env.Brokers...), kgo.FetchMaxWait(250*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.input(events.Messages): at}))
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	m, err := newMeter(s.env.Brokers[0], o.Addr)
	if err != nil {
		return Result{}, err
	}
	m.start()
	done := 0
	for done < n {
		f := client.PollRecords(ctx, 10_000)
		if err := f.Err(); err != nil {
			return Result{}, err
		}
		recs := f.Records()
		if err := s.zadd(ctx, rdb, recs[:min(len(recs), n-done)]); err != nil {
			return Result{}, err
		}
		done += len(recs)
	}
	r := m.stop("coalesced sorted sets, mix A", min(done, n))
	return r, rdb.FlushAll(ctx).Err()
}

// zadd writes one chunk, in pipelines of 1,000 commands, two at a time.
func (s *stage) zadd(ctx context.Context, rdb *redis.Client, recs []*kgo.Record) error {
	var d events.Decoder
	var e events.Message
	chunk := map[string][]redis.Z{}
	for _, r := range recs {
		if err := d.Message(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
			return err
		}
		id := string(e.ChannelID)
		chunk[id] = append(chunk[id], redis.Z{Score: float64(e.OccurredAt), Member: string(e.MessageID)})
	}
	pipes := make(chan redis.Pipeliner)
	errs := make(chan error, 2)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for p := range pipes {
				if _, err := p.Exec(ctx); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	pipe := rdb.Pipeline()
	for id, z := range chunk {
		var c int
		if _, err := fmt.Sscanf(id, "chn_%d", &c); err != nil {
			return err
		}
		for j := range s.mix.Members {
			key := fmt.Sprintf("unread:usr_%09d:%s", s.mix.Member(c, j), id)
			pipe.ZAdd(ctx, key, z...)
			pipe.Expire(ctx, key, 30*24*time.Hour)
			if pipe.Len() >= 1_000 {
				pipes <- pipe
				pipe = rdb.Pipeline()
			}
		}
	}
	pipes <- pipe
	close(pipes)
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
