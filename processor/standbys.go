package processor

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tidemark/tidemark/processor/internal/fetch"
	"github.com/tidemark/tidemark/processor/internal/group"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// standbys are the partitions that this member tails, as the group's leader assigns them
// (internal/group). A standby proper takes over if the owner fails; one that is warming up becomes
// the owner once it is near.
type standbys struct {
	p      *Processor
	feeder *fetch.Feeder // set by Run
	wake   chan struct{}

	// Guarded by p.mu:
	workers map[int32]*steps.Worker
	want    group.Duties
	owned   map[int32]bool // by the last assignment, which the client may not have acted on yet
	retry   map[int32]time.Time
	since   time.Time // time of the last assignment, or of the last request to the group to move what is near
	asked   bool
	ended   bool

	allowed map[int32]projections.Position // the last limit of each standby; only the goroutine of run uses it
}

const (
	standbyRetry   = 30 * time.Second // a failed standby is tried again after this time
	warmPatience   = 30 * time.Second // near partitions move without the others after this time
	offsetsTimeout = 5 * time.Second
)

func newStandbys(p *Processor) *standbys {
	return &standbys{p: p, wake: make(chan struct{}, 1), workers: map[int32]*steps.Worker{}, owned: map[int32]bool{},
		retry: map[int32]time.Time{}, allowed: map[int32]projections.Position{}}
}

// assigned records an assignment of the group's leader.
func (s *standbys) assigned(owned map[string][]int32, d group.Duties) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.want, s.since, s.asked = d, s.p.cfg.Now(), false
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
			s.p.log.Warn("standbys cannot continue yet", "err", err)
		}
		select {
		case <-tick.C:
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// step starts and ends standbys, and passes the committed offsets on to them, beyond which they
// must not fold.
func (s *standbys) step(ctx context.Context) error {
	s.reconcile()
	s.p.mu.RLock()
	var fresh, tailing []*steps.Worker
	for _, n := range slices.Sorted(maps.Keys(s.workers)) {
		switch w := s.workers[n]; {
		case w.Failure.Load() != nil:
		case w.Tails.Load():
			tailing = append(tailing, w)
		case life.Done(w.Opened):
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
		if c, ok := committed[w.Number]; ok && c != s.allowed[w.Number] {
			s.allowed[w.Number] = c
			w.Inbox.Allow(c)
		}
	}
	s.moveIfNear(committed)
	return nil
}

// reconcile starts and ends standbys until they match the leader's last assignment.
func (s *standbys) reconcile() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.ended {
		return
	}
	now := s.p.cfg.Now()
	wanted := map[int32]bool{}
	for _, n := range append(slices.Clone(s.want.Standby), s.want.Warming...) {
		wanted[n] = n < s.p.engine.Partitions()
	}
	changed := false
	for _, n := range slices.Sorted(maps.Keys(s.workers)) {
		w := s.workers[n]
		switch {
		case !wanted[n] && !s.owned[n]:
			w.Inbox.Stop(inbox.StopClean)
		case !life.Done(w.Done):
			continue // an assigned partition is promoted when the client reports the assignment
		case s.retry[n].IsZero():
			s.retry[n] = now.Add(standbyRetry)
			s.feeder.Leave(w.Inbox)
			continue // so that /readyz shows why
		case now.Before(s.retry[n]):
			continue
		}
		s.drop(n)
		changed = true
	}
	for _, n := range slices.Sorted(maps.Keys(wanted)) {
		if !wanted[n] || s.workers[n] != nil || s.p.workers[n] != nil || s.owned[n] {
			continue
		}
		delete(s.retry, n)
		w := s.p.newWorker(n, s.feeder.Client)
		s.workers[n] = w
		w.Launch()
		s.p.log.Info("partition is tailed for its owner", "partition", n)
		changed = true
	}
	if changed {
		s.p.share()
		s.p.noteStores(slices.Sorted(maps.Keys(s.workers)))
	}
}

// drop removes a standby. The next worker that opens its store waits until it is closed. The caller
// holds p.mu.
func (s *standbys) drop(n int32) {
	s.feeder.Leave(s.workers[n].Inbox)
	s.p.leaving[n] = s.workers[n].Done
	delete(s.workers, n)
	delete(s.retry, n)
}

// promote returns the standby of a partition that this member now owns, or nil if it has none that
// works. From here on the group's client fetches for it. The caller holds p.mu.
func (s *standbys) promote(n int32) *steps.Worker {
	w := s.workers[n]
	if w == nil {
		return nil
	}
	s.drop(n)
	if w.Failure.Load() != nil || life.Done(w.Done) {
		return nil
	}
	delete(s.p.leaving, n)
	w.Inbox.Reroute(s.p.engine.Flow(n, s.p.consumer))
	w.Life.Promote()
	return w
}

// stop ends all standbys in order. The end of the owned partitions waits for their stores too.
func (s *standbys) stop() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.ended = true
	for _, n := range slices.Sorted(maps.Keys(s.workers)) {
		s.workers[n].Inbox.Stop(inbox.StopClean)
		s.drop(n)
	}
}

// Standbys returns the status of each partition that this process tails for its owner, in order.
func (p *Processor) Standbys() []PartitionStatus {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var list []PartitionStatus
	for _, n := range slices.Sorted(maps.Keys(p.standbys.workers)) {
		st := p.standbys.workers[n].Status()
		if st.State.Opens() {
			st.State = StateStandby // its store is being opened
		}
		list = append(list, st)
	}
	return list
}
