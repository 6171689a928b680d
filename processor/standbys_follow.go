package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// Standbys fold up to the offsets that the group has committed and no further (steps/standby.go).
// The same offsets show which of the partitions that will move here have nearly caught up. They move
// once they also know all channels of their users, because until then the old owner can answer calls
// about users and this member cannot.

// committed returns the group's offsets of the partitions for which it has all three.
func (s *standbys) committed(ctx context.Context) (map[int32]projections.Position, error) {
	offsets, err := s.p.admin.FetchOffsets(ctx, s.p.cfg.Group)
	if err != nil {
		return nil, fmt.Errorf("the offsets of group %s cannot be read: %w", s.p.cfg.Group, err)
	}
	all := map[int32]projections.Position{}
	for n := range s.p.engine.Partitions() {
		var position projections.Position
		known := true
		for i, topic := range s.p.cfg.Topics.Inputs {
			o, ok := offsets.Lookup(topic, n)
			if known = known && ok && o.Err == nil && o.At >= 0; known {
				position[i] = o.At
			}
		}
		if known {
			all[n] = position
		}
	}
	return all, nil
}

// begin starts the standbys whose stores are open and for whose partitions the group has committed
// offsets.
func (s *standbys) begin(ctx context.Context, ws []*steps.Worker, committed map[int32]projections.Position) error {
	ws = slices.DeleteFunc(ws, func(w *steps.Worker) bool { _, ok := committed[w.Number]; return !ok })
	if len(ws) == 0 {
		return nil
	}
	logs, err := s.p.engine.SurveyOnce(ctx)
	if err != nil {
		return fmt.Errorf("the start and end of the topics' logs are not known: %w", err)
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	for _, w := range ws {
		if s.workers[w.Number] != w {
			continue // it has become the owner, or is no longer a standby
		}
		o, err := s.order(w, committed[w.Number], logs)
		if err != nil {
			w.GiveUp(fmt.Errorf("standby: %w", err))
			continue
		}
		w.Begin(o)
		s.feeder.Feed(w.Inbox, o.Plan.From)
		delete(s.allowed, w.Number)
	}
	return nil
}

func (s *standbys) order(w *steps.Worker, committed projections.Position, logs *engine.Survey) (opening.Order, error) {
	if logs.Wrong != nil {
		return opening.Order{}, logs.Wrong
	}
	h := opening.History{Committed: committed}
	for i, topic := range s.p.cfg.Topics.Inputs {
		var err error
		if h.Start[i], h.End[i], err = logs.Bounds(i, w.Number); err != nil {
			return opening.Order{}, fmt.Errorf("the start and end of %s/%d are not known: %w", topic, w.Number, err)
		}
	}
	plan, err := opening.Decide(w.Number, &s.p.cfg.Topics.Inputs, w.StoredAt, h)
	if err != nil {
		return opening.Order{}, err
	}
	plan, ok := opening.DecideStandby(plan, w.StoredAt, h)
	if !ok {
		return opening.Order{}, errors.New("the group has committed nothing")
	}
	return opening.Order{Plan: plan, Ends: h.End, Standby: true}, nil
}

// moveIfNear asks for a rebalance once the partitions that will move here have nearly caught up and
// are listed. After warmPatience those that have nearly caught up are enough.
func (s *standbys) moveIfNear(committed map[int32]projections.Position) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	near, ready := 0, 0
	for _, n := range s.want.Warming {
		if w := s.workers[n]; w != nil && w.Tails.Load() && 2*opening.Behind(committed[n], w.Progress.At()) <= s.p.cfg.NearRecords {
			near++
			if w.Fold.Listed() {
				ready++
			}
		}
	}
	waited := s.p.cfg.Now().Sub(s.since) >= warmPatience
	if near == 0 || !waited && (s.asked || ready < len(s.want.Warming)) {
		return
	}
	s.asked, s.since = true, s.p.cfg.Now()
	s.p.log.Info("partitions that will move here have nearly caught up", "near", near, "of", len(s.want.Warming))
	s.p.consumer.ForceRebalance()
}

// positions returns how far this member has folded each open partition, for the group's leader.
func (p *Processor) positions() map[int32]int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := map[int32]int64{}
	for _, of := range []map[int32]*steps.Worker{p.workers, p.standbys.workers} {
		for n, w := range of {
			if w.Started.Load() && w.Failure.Load() == nil {
				all[n] = opening.Behind(w.Progress.At(), projections.Position{})
			}
		}
	}
	return all
}
