package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// kept returns the partitions that have no other owner yet. It returns errReopen if one has another
// owner that the group has not announced: either this member or the other one is cut off from the
// group, and joining again shows which.
func (s *session) kept(touched []*part) ([]*part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost *part
	touched = slices.DeleteFunc(touched, func(p *part) bool {
		if !p.lost.Load() {
			return false
		}
		if s.parts[p.partition] == p {
			lost = p
		}
		return true
	})
	if lost != nil {
		return nil, fmt.Errorf("%w, or another member has taken %s", errReopen, lost.String())
	}
	return touched, nil
}

// steps returns the moves of the cursors of touched, and every CheckEvery those of all partitions.
func (s *session) steps(touched []*part) ([]*part, []step) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.plant("advance")
	if now.Sub(s.checked) >= s.cfg.CheckEvery || len(touched) == 0 {
		s.checked = now
		touched = touched[:0]
		for _, p := range s.parts {
			touched = append(touched, p)
		}
	}
	steps := make([]step, len(touched))
	for i, p := range touched {
		steps[i] = step{p.partition, p.Stored, p.Next}
	}
	return touched, steps
}

// advance moves the cursors of touched, and every CheckEvery compares those of all partitions.
func (s *session) advance(ctx context.Context, touched []*part, oldest time.Time, w *written) error {
	touched, steps := s.steps(touched)
	var complete bool
	var reopen error
	err := s.cache.writer.persist(ctx, "move the cursors", func(ctx context.Context) (err error) {
		if complete, err = s.fill.advance(ctx, steps, w); errors.Is(err, errReopen) {
			reopen, err = err, nil
		}
		return err
	})
	if err = errors.Join(err, reopen); err != nil {
		return err
	}
	s.cache.complete.Set(complete)
	s.cache.writer.trouble.Store(nil)

	s.mu.Lock()
	defer s.mu.Unlock()
	behind := int64(0)
	for i, p := range touched {
		p.Stored = steps[i].next
		if s.parts[p.partition] == p {
			s.cache.metrics.lag.Put(p.partition, p.End-p.Stored)
			behind += p.End - p.Stored
		}
	}
	if oldest.IsZero() || behind == 0 {
		s.cache.metrics.lagSeconds.Set(0)
	} else {
		s.cache.metrics.lagSeconds.Set(max(0, time.Since(oldest).Seconds()))
	}
	return nil
}
