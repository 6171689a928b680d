package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/retry"
)

// assign returns the offsets at which newly assigned partitions start: the cursors in Redis. It
// waits for Redis and for the brokers until the rebalance (group) or the session ends.
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
		// Records below the group's offset were published before. Without an offset nobody listened
		// to the records that are in the log already, unless a cursor shows that they were being
		// read.
		loud := offsets[p.topic][p.number].EpochOffset().Offset
		if loud < 0 {
			if loud = next[i]; next[i] == logs[i].start {
				loud = logs[i].end
			}
		}
		s.parts[p] = &part{
			partition: p, token: token, table: newTable(1), loud: loud, begun: logs[i].end, stored: next[i], next: next[i], commit: -1, end: logs[i].end,
		}
		offsets[p.topic][p.number] = kgo.NewOffset().At(next[i]).WithEpoch(-1)
		s.cache.metrics.setLag(p, logs[i].end-next[i])
		s.cfg.Logger.Info("partition is cached here", "topic", p.topic, "partition", p.number, "offset", next[i], "end", logs[i].end)
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
	starts, err := s.adm.ListStartOffsets(ctx, s.cfg.Unread, s.cfg.Channels)
	if err != nil {
		return nil, fmt.Errorf("starts of the logs: %w", err)
	}
	ends, err := s.adm.ListEndOffsets(ctx, s.cfg.Unread, s.cfg.Channels)
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
				return nil, fmt.Errorf("%s: the brokers do not say where the log is", p.field())
			}
			if o.Err != nil {
				return nil, fmt.Errorf("%s: where the log is: %w", p.field(), o.Err)
			}
			*of.to = o.Offset
		}
	}
	return logs, nil
}

// release forgets partitions that others take over. Writes of theirs that are under way do no harm:
// Redis refuses them.
func (s *session) release(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, numbers := range gone {
		for _, n := range numbers {
			p := partition{topic, n}
			delete(s.parts, p)
			s.cache.metrics.dropLag(p)
		}
	}
}

// letGo runs release on the client's goroutine. A panic ends the session, so that every partition
// is opened anew.
func (s *session) letGo(ctx context.Context, cl *kgo.Client, gone map[string][]int32) {
	if err := guard.Do("giving partitions away", func() { s.release(ctx, cl, gone) }); err != nil {
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

// uncommitted returns the group offsets that are behind the applied records.
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

// lastCommit sends the group offsets of a session that ends, and waits for a bounded time. The
// client's own call ignores its context while an earlier commit is under way.
func (s *session) lastCommit() {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	offsets := s.uncommitted()
	if offsets == nil {
		return
	}
	guard.Within(patience, "the cache's last commit", func(err *guard.Error) { s.cfg.Logger.Error("cache stops", "error", err) },
		func() { s.client.CommitOffsetsSync(ctx, offsets, nil) })
}
