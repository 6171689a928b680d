package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/projections"
)

// What standbys follow are the offsets that the group has committed, and no further (standby.go). From them this
// member says which of those that are to move here are near.

// committed are the group's offsets by partition, of those for which it has all.
func (s *standbys) committed(ctx context.Context) (map[int32]projections.Position, error) {
	offsets, err := s.p.admin.FetchOffsets(ctx, s.p.cfg.Group)
	if err != nil {
		return nil, fmt.Errorf("the offsets of group %s cannot be read: %w", s.p.cfg.Group, err)
	}
	all := map[int32]projections.Position{}
	for n := range s.p.Partitions() {
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

// begin lets standbys start whose stores are open, as far as there is something to follow.
func (s *standbys) begin(ctx context.Context, ws []*worker, committed map[int32]projections.Position) error {
	ws = slices.DeleteFunc(ws, func(w *worker) bool { _, ok := committed[w.number]; return !ok })
	if len(ws) == 0 {
		return nil
	}
	logs, err := s.p.surveyOnce(ctx)
	if err != nil {
		return fmt.Errorf("the brokers do not say where the logs begin and end: %w", err)
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	for _, w := range ws {
		if s.workers[w.number] != w {
			continue // it has become the owner, or is no standby any more
		}
		o, err := s.order(w, committed[w.number], logs)
		if err != nil {
			w.giveUp(fmt.Errorf("standby: %w", err))
			continue
		}
		w.begin(o)
		s.feeder.feed(w, o.plan.from)
		delete(s.told, w.number)
	}
	return nil
}

func (s *standbys) order(w *worker, committed projections.Position, logs *survey) (order, error) {
	if logs.wrong != nil {
		return order{}, logs.wrong
	}
	h := history{committed: committed}
	for i, topic := range s.p.cfg.Topics.Inputs {
		var err error
		if h.start[i], h.end[i], err = logs.bounds(i, w.number); err != nil {
			return order{}, fmt.Errorf("where %s/%d begins and ends is not known: %w", topic, w.number, err)
		}
	}
	plan, err := planOpening(w.number, &s.p.cfg.Topics.Inputs, w.storedAt, h)
	if err != nil {
		return order{}, err
	}
	plan, ok := planStandby(plan, w.storedAt, h)
	if !ok {
		return order{}, errors.New("the group has committed nothing")
	}
	return order{plan: plan, ends: h.end, standing: true}, nil
}

// moveIfNear asks for a rebalance when the partitions that are to move here are near.
func (s *standbys) moveIfNear(committed map[int32]projections.Position) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	near := 0
	for _, n := range s.want.Warming {
		if w := s.workers[n]; w != nil && w.tails.Load() && 2*behind(committed[n], w.progress.at()) <= s.p.cfg.NearRecords {
			near++
		}
	}
	waited := s.p.cfg.now().Sub(s.since) >= warmPatience
	if near == 0 || s.asked && !waited || near < len(s.want.Warming) && !waited {
		return
	}
	s.asked, s.since = true, s.p.cfg.now()
	s.p.log.Info("partitions that are to move here are near", "near", near, "of", len(s.want.Warming))
	s.p.consumer.ForceRebalance()
}

// behind is how many offsets position lacks of committed.
func behind(committed, position projections.Position) int64 {
	var n int64
	for i := range committed {
		n += max(committed[i]-position[i], 0)
	}
	return n
}

// positions is how far this member has folded what it has open, for the group's leader.
func (p *Processor) positions() map[int32]int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := map[int32]int64{}
	for _, of := range []map[int32]*worker{p.workers, p.standbys.workers} {
		for n, w := range of {
			if w.started.Load() && w.failure.Load() == nil {
				all[n] = behind(w.progress.at(), projections.Position{})
			}
		}
	}
	return all
}
