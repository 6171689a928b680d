package sqlsink

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/sink"
)

// assign returns the offsets at which newly assigned partitions start: their positions in the
// database. It waits for the database and for the brokers until ctx ends, with the rebalance or the
// session.
func (s *session) assign(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	list := sink.Assigned(offsets)
	logs, err := s.logs.Extents(ctx, list)
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	fill := s.begun
	var next []int64
	err = s.sink.db.persist(ctx, "begin partitions", func(ctx context.Context, tx pgx.Tx) (err error) {
		next, err = fill.begin(ctx, tx, token, list, logs)
		return err
	})
	if err != nil {
		if errors.Is(err, errReopen) {
			s.breaks(err)
		}
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range list {
		s.parts[p] = &part{partition: p, token: token, Progress: sink.Progress{Stored: next[i], Next: next[i], Commit: -1, End: logs[i].End}}
		offsets[p.Topic][p.Number] = kgo.NewOffset().At(next[i]).WithEpoch(-1)
		s.sink.metrics.lag.Put(p, logs[i].End-next[i])
		s.cfg.Logger.Info("partition is written to SQL here", "topic", p.Topic, "partition", p.Number, "offset", next[i], "end", logs[i].End)
	}
	return offsets, nil
}

// release drops partitions that others take over. Their pending writes are harmless: they hold the
// positions, and the new owner waits for them.
func (s *session) release(gone map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts.Release(gone, s.sink.metrics.lag)
	s.released = true
}

// breaks ends the session with err, unless the session is already ending.
func (s *session) breaks(err error) {
	select {
	case s.broken <- err:
	default:
	}
}

// uncommitted returns the group offsets that are behind the written records.
func (s *session) uncommitted() sink.Offsets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts.Uncommitted()
}

// end updates the ends of the logs.
func (s *session) end(ends kadm.ListedOffsets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts.SetEnds(ends, s.sink.metrics.lag)
	if !s.since.IsZero() {
		s.sink.metrics.lagSeconds.Set(time.Since(s.since).Seconds())
	}
}
