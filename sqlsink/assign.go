package sqlsink

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/retry"
)

// assign returns the offsets at which newly assigned partitions start: the positions in the
// database. It waits for the database and for the brokers until the rebalance (group) or the
// session ends.
func (s *session) assign(session, group context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	ctx, cancel := context.WithCancel(group)
	defer cancel()
	defer context.AfterFunc(session, cancel)()

	var list []partition
	for topic, numbers := range offsets {
		for n := range numbers {
			list = append(list, partition{topic, n})
		}
	}
	slices.SortFunc(list, func(a, b partition) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.number, b.number))
	})
	logs, err := s.extents(ctx, list)
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
		s.parts[p] = &part{partition: p, token: token, stored: next[i], next: next[i], commit: -1, end: logs[i].end}
		offsets[p.topic][p.number] = kgo.NewOffset().At(next[i]).WithEpoch(-1)
		s.sink.metrics.setLag(p, logs[i].end-next[i])
		s.cfg.Logger.Info("partition is written to SQL here", "topic", p.topic, "partition", p.number, "offset", next[i], "end", logs[i].end)
	}
	return offsets, nil
}

// extents asks the brokers for the first and the next offset of each log, until all are known.
func (s *session) extents(ctx context.Context, list []partition) ([]extent, error) {
	pause := retry.Backoff{Min: s.cfg.RetryMin, Max: s.cfg.RetryMax}
	for {
		logs, err := s.extentsOnce(ctx, list)
		if err == nil {
			return logs, nil
		}
		if !pause.Wait(ctx) {
			return nil, err
		}
		s.cfg.Logger.Warn("extent of the topics is not known, asking again", "error", err)
	}
}

func (s *session) extentsOnce(ctx context.Context, list []partition) ([]extent, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	starts, err := s.adm.ListStartOffsets(ctx, s.cfg.topics()...)
	if err != nil {
		return nil, fmt.Errorf("starts of the logs: %w", err)
	}
	ends, err := s.adm.ListEndOffsets(ctx, s.cfg.topics()...)
	if err != nil {
		return nil, fmt.Errorf("ends of the logs: %w", err)
	}
	logs := make([]extent, len(list))
	for i, p := range list {
		for _, of := range []struct {
			list kadm.ListedOffsets
			to   *int64
		}{{starts, &logs[i].start}, {ends, &logs[i].end}} {
			o, ok := of.list.Lookup(p.topic, p.number)
			if !ok {
				return nil, fmt.Errorf("%s: the brokers do not say where the log is", p)
			}
			if o.Err != nil {
				return nil, fmt.Errorf("%s: where the log is: %w", p, o.Err)
			}
			*of.to = o.Offset
		}
	}
	return logs, nil
}

// letGo forgets partitions that others take over. Writes of theirs that are under way do no harm:
// they hold the positions, and the new owner waits for them. A panic ends the session, so that
// every partition is opened anew.
func (s *session) letGo(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	err := guard.Do("giving partitions away", func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for topic, numbers := range gone {
			for _, n := range numbers {
				p := partition{topic, n}
				delete(s.parts, p)
				s.released = true
				s.sink.metrics.dropLag(p)
			}
		}
	})
	if err != nil {
		s.breaks(err)
	}
}

// breaks ends the session with err, unless it ends already.
func (s *session) breaks(err error) {
	select {
	case s.broken <- err:
	default:
	}
}

// uncommitted returns the group offsets that are behind the written records.
func (s *session) uncommitted() map[string]map[int32]kgo.EpochOffset {
	s.mu.Lock()
	defer s.mu.Unlock()
	var offsets map[string]map[int32]kgo.EpochOffset
	for _, p := range s.parts {
		if p.stored == p.commit {
			continue
		}
		if offsets == nil {
			offsets = map[string]map[int32]kgo.EpochOffset{}
		}
		if offsets[p.topic] == nil {
			offsets[p.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[p.topic][p.number] = kgo.EpochOffset{Epoch: -1, Offset: p.stored}
		p.commit = p.stored
	}
	return offsets
}

// commit sends group offsets every CommitEvery. Only lag monitors need them, so a failed commit is
// left to the next one.
func (s *session) commit(ctx context.Context) {
	if time.Since(s.committed) < s.cfg.CommitEvery {
		return
	}
	s.committed = time.Now()
	if offsets := s.uncommitted(); offsets != nil {
		s.client.CommitOffsets(ctx, offsets, nil)
	}
}

// lastCommit sends the group offsets of a session that ends, and waits for a bounded time.
func (s *session) lastCommit() {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	offsets := s.uncommitted()
	if offsets == nil {
		return
	}
	guard.Within(patience, "the SQL sink's last commit", func(err *guard.Error) { s.cfg.Logger.Error("the SQL sink stops", "error", err) },
		func() { s.client.CommitOffsetsSync(ctx, offsets, nil) })
}
