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
// database. It waits for the database and the brokers, until the rebalance (group) or the session
// ends.
func (s *session) assign(session, group context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	ctx, cancel := context.WithCancel(group)
	defer cancel()
	defer context.AfterFunc(session, cancel)()

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
		s.parts[p] = &part{partition: p, token: token, stored: next[i], next: next[i], commit: -1, end: logs[i].End}
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
	for topic, numbers := range gone {
		for _, n := range numbers {
			p := partition{Topic: topic, Number: n}
			delete(s.parts, p)
			s.released = true
			s.sink.metrics.lag.Drop(p)
		}
	}
}

// breaks ends the session with err, unless the session is already ending.
func (s *session) breaks(err error) {
	select {
	case s.broken <- err:
	default:
	}
}

// uncommitted returns the group offsets that are behind the written records.
func (s *session) uncommitted() (offsets sink.Offsets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if p.stored != p.commit {
			offsets.Add(p.partition, p.stored)
			p.commit = p.stored
		}
	}
	return offsets
}

// end updates the ends of the logs.
func (s *session) end(ends kadm.ListedOffsets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if o, ok := ends.Lookup(p.Topic, p.Number); ok && o.Err == nil {
			p.end = max(p.end, o.Offset)
			s.sink.metrics.lag.Put(p.partition, p.end-p.stored)
		}
	}
	if !s.since.IsZero() {
		s.sink.metrics.lagSeconds.Set(time.Since(s.since).Seconds())
	}
}
