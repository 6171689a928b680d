package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// assign tells the client where newly assigned partitions start: at the cursors in Redis. It waits for Redis and for the
// brokers; a rebalance (group) or the end of the session ends the wait.
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
	token := random()
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
			select {
			case s.broken <- reopen:
			default: // it is known
			}
		}
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range list {
		// What is below the group's offset was published once. Without one there was nobody to tell of what is in the
		// log already, unless a cursor says that it was being read.
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

// extents asks the brokers where the logs begin and end, until they say so for all of them.
func (s *session) extents(ctx context.Context, list []partition) ([]extent, error) {
	pause := s.cfg.RetryMin
	for {
		logs, err := s.extentsOnce(ctx, list)
		if err == nil {
			return logs, nil
		}
		if !sleep(ctx, pause) {
			return nil, err
		}
		s.cfg.Logger.Warn("extent of the topics is not known, asking again", "error", err)
		pause = min(2*pause, s.cfg.RetryMax)
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

// release forgets partitions that others take over. What is being written of them does no harm.
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

// uncommitted are the group offsets that are behind what was applied.
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

// commit sends group offsets now and then. Nothing depends on it: a failed one is made up for by the next.
func (s *session) commit(ctx context.Context) {
	if time.Since(s.committed) < s.cfg.CommitEvery {
		return
	}
	s.committed = time.Now()
	if offsets := s.uncommitted(); offsets != nil {
		s.client.CommitOffsets(ctx, offsets, nil)
	}
}

// lastCommit sends the group offsets of a session that ends, and waits a moment for it.
func (s *session) lastCommit() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if offsets := s.uncommitted(); offsets != nil {
		s.client.CommitOffsetsSync(ctx, offsets, nil)
	}
}
