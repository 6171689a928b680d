package cache

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/sink"
)

// assign returns the offsets at which newly assigned partitions start: the cursors in Redis. It
// waits for Redis and for the brokers until ctx ends, with the rebalance or the session.
func (s *session) assign(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	list := sink.Assigned(offsets)
	logs, err := s.logs.Extents(ctx, list)
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	var next []int64
	var reopen error
	err = s.cache.writer.persist(ctx, "begin partitions", func(ctx context.Context) (err error) {
		if next, err = s.fill.begin(ctx, token, list, logs); errors.Is(err, errReopen) {
			reopen, err = err, nil
		}
		return err
	})
	if err = errors.Join(err, reopen); err != nil {
		if reopen != nil {
			s.breaks(reopen)
		}
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.plant("assign")
	for i, p := range list {
		// Records below the group's offset were published before. Without an offset there were no
		// listeners for the records that are already in the log, unless a cursor shows that they
		// were being read.
		publishFrom := offsets[p.Topic][p.Number].EpochOffset().Offset
		if publishFrom < 0 {
			if publishFrom = next[i]; next[i] == logs[i].Start {
				publishFrom = logs[i].End
			}
		}
		s.parts[p] = &part{
			partition: p, token: token, table: newTable(1), publishFrom: publishFrom, begun: logs[i].End,
			Progress: sink.Progress{Stored: next[i], Next: next[i], Commit: -1, End: logs[i].End},
		}
		offsets[p.Topic][p.Number] = kgo.NewOffset().At(next[i]).WithEpoch(-1)
		s.cache.metrics.lag.Put(p, logs[i].End-next[i])
		s.cfg.Logger.Info("partition is cached here", "topic", p.Topic, "partition", p.Number, "offset", next[i], "end", logs[i].End)
	}
	return offsets, nil
}

// release drops partitions that others take over. Their pending writes are harmless: Redis refuses
// them.
func (s *session) release(gone map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts.Release(gone, s.cache.metrics.lag)
}

// breaks ends the session with err, unless the session is already ending.
func (s *session) breaks(err error) {
	select {
	case s.broken <- err:
	default:
	}
}

// uncommitted returns the group offsets that are behind the applied records.
func (s *session) uncommitted() sink.Offsets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts.Uncommitted()
}

// end updates the ends of the logs.
func (s *session) end(ends kadm.ListedOffsets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.plant("ends")
	s.parts.SetEnds(ends, s.cache.metrics.lag)
}
