package processor

import (
	"context"
	"slices"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// standbys are the partitions that this member tails for others, as the group's leader says (balancer.go). There are two
// sorts: those that are kept for the case that the owner fails, and those that are to move here once they are near.
type standbys struct {
	p      *Processor
	feeder *feeder // set by Run
	wake   chan struct{}

	// Under p.mu:
	workers map[int32]*worker
	want    duties
	owned   map[int32]bool // by the last assignment, which the client may not have acted on
	retry   map[int32]time.Time
	since   time.Time // of the last assignment, or of the last time that the group was asked to move what is near
	asked   bool
	ended   bool

	told map[int32]projections.Position // how far each may fold; of the goroutine of run
}

const (
	standbyRetry   = 30 * time.Second // after which a standby that failed is tried again
	warmPatience   = 30 * time.Second // after which what is near moves, though the rest is not
	offsetsTimeout = 5 * time.Second
)

func newStandbys(p *Processor) *standbys {
	return &standbys{p: p, wake: make(chan struct{}, 1), workers: map[int32]*worker{}, owned: map[int32]bool{},
		retry: map[int32]time.Time{}, told: map[int32]projections.Position{}}
}

// assigned takes what the group's leader says.
func (s *standbys) assigned(owned map[string][]int32, d duties) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.want, s.since, s.asked = d, s.p.cfg.now(), false
	clear(s.owned)
	for _, numbers := range owned {
		for _, n := range numbers {
			s.owned[n] = true
		}
	}
	s.poke()
}

func (s *standbys) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run keeps the standbys going until ctx is done.
func (s *standbys) run(ctx context.Context) {
	tick := time.NewTicker(s.p.cfg.StandbyEvery)
	defer tick.Stop()
	for {
		if err := s.step(ctx); err != nil && ctx.Err() == nil {
			s.p.log.Warn("standbys cannot go on yet", "err", err)
		}
		select {
		case <-tick.C:
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// step starts and ends standbys, and tells them how far they may fold.
func (s *standbys) step(ctx context.Context) error {
	s.reconcile()
	s.p.mu.RLock()
	var fresh, tailing []*worker
	for _, n := range sortedKeys(s.workers) {
		switch w := s.workers[n]; {
		case w.failure.Load() != nil:
		case w.tails.Load():
			tailing = append(tailing, w)
		case isDone(w.opened):
			fresh = append(fresh, w)
		}
	}
	s.p.mu.RUnlock()
	if len(fresh)+len(tailing) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, offsetsTimeout)
	defer cancel()
	committed, err := s.committed(ctx)
	if err != nil {
		return err
	}
	if len(fresh) > 0 {
		if err := s.begin(ctx, fresh, committed); err != nil {
			return err
		}
	}
	for _, w := range tailing {
		if c, ok := committed[w.number]; ok && c != s.told[w.number] {
			s.told[w.number] = c
			w.inbox.allow(c)
		}
	}
	s.moveIfNear(committed)
	return nil
}

// reconcile starts and ends standbys so that they are those that the leader wants.
func (s *standbys) reconcile() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.ended {
		return
	}
	now := s.p.cfg.now()
	wanted := map[int32]bool{}
	for _, n := range append(slices.Clone(s.want.Standby), s.want.Warming...) {
		wanted[n] = n < s.p.Partitions()
	}
	changed := false
	for _, n := range sortedKeys(s.workers) {
		w := s.workers[n]
		switch {
		case !wanted[n] && !s.owned[n]:
			w.inbox.stop(stopClean)
		case !isDone(w.done):
			continue // what is assigned here is promoted when the client says so
		case s.retry[n].IsZero():
			s.retry[n] = now.Add(standbyRetry)
			s.feeder.leave(w)
			continue // so that /readyz shows why
		case now.Before(s.retry[n]):
			continue
		}
		s.drop(n)
		changed = true
	}
	for _, n := range sortedKeys(wanted) {
		if !wanted[n] || s.workers[n] != nil || s.p.workers[n] != nil || s.owned[n] {
			continue
		}
		delete(s.retry, n)
		w := s.p.newWorker(n, s.feeder.client)
		s.workers[n] = w
		go w.main()
		s.p.log.Info("partition is tailed for its owner", "partition", n)
		changed = true
	}
	if changed {
		s.p.share()
		s.p.hold(sortedKeys(s.workers))
	}
}

// drop forgets a standby. Whoever opens its store waits until it is closed. p.mu is held.
func (s *standbys) drop(n int32) {
	s.feeder.leave(s.workers[n])
	s.p.leaving[n] = s.workers[n].done
	delete(s.workers, n)
	delete(s.retry, n)
}

// promote takes the standby of a partition that this member has come to own, nil if there is none that is well. From
// here on the group's client fetches for it. p.mu is held.
func (s *standbys) promote(n int32) *worker {
	w := s.workers[n]
	if w == nil {
		return nil
	}
	s.drop(n)
	if w.failure.Load() != nil || isDone(w.done) {
		return nil
	}
	delete(s.p.leaving, n)
	w.inbox.reroute(s.p.flow(n, s.p.consumer))
	w.state.CompareAndSwap(uint32(StateStandby), uint32(StateOpening))
	return w
}

// stop ends all standbys in order. Their stores are waited for with those of the partitions that are owned.
func (s *standbys) stop() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.ended = true
	for _, n := range sortedKeys(s.workers) {
		s.workers[n].inbox.stop(stopClean)
		s.drop(n)
	}
}

// Standbys is the status of each partition that this process tails for its owner, in order.
func (p *Processor) Standbys() []PartitionStatus {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var list []PartitionStatus
	for _, n := range sortedKeys(p.standbys.workers) {
		st := p.standbys.workers[n].status()
		if st.State == StateOpening {
			st.State = StateStandby // its store is being opened
		}
		list = append(list, st)
	}
	return list
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
