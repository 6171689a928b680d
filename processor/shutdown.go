package processor

import (
	"maps"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/processor/internal/inbox"
)

// shutdown ends all partitions in order while the member still heartbeats, and leaves the group.
// Its steps share one deadline, ShutdownTimeout from now: a broker or a disk that hangs may cost
// the later steps their shares, but never more than the whole. A worker that is still busy then
// ends by itself later, if the process lives. The next start continues with the store that it
// leaves.
//
// The partitions get half of the time to finish in order, and a sixteenth after they are cut off.
// The last commit gets an eighth, and leaving the group an eighth. Snapshots may take the rest.
func (p *Processor) shutdown(others *sync.WaitGroup) {
	whole := p.cfg.ShutdownTimeout
	end := time.Now().Add(whole)
	p.within(time.Now().Add(whole/16), "what else runs", others.Wait) // it has already been told to end
	close(p.stopping)
	p.log.Info("stopping", "partitions", len(p.owned()))
	p.standbys.stop()
	owned := p.owned()
	share := patience{finish: min(p.cfg.StopTimeout, whole/2), cut: whole / 16, commit: whole / 8}
	steps := []struct {
		name string
		by   time.Time
		do   func(by time.Time)
	}{
		{"partitions", time.Now().Add(share.finish + share.cut + share.commit), func(time.Time) { p.release(p.ownedNumbers(), inbox.StopClean, share) }},
		{"snapshots", end.Add(-whole / 8), func(by time.Time) { p.snapshotStopped(owned, by) }},
		{"leaving the group", end, func(by time.Time) {
			if err := kafkaadmin.Leave(p.consumer, min(kafkaadmin.LeavePatience, time.Until(by)/2)); err != nil {
				p.log.Warn("the member stops", "group", p.cfg.Group, "err", err)
			}
		}},
		{"stores", end, p.awaitStores},
		{"what else runs", end, func(time.Time) { others.Wait() }}, // a snapshot or a sweep that the disk held up
		{"closing the consumer of standbys", end, func(time.Time) { p.standbys.feeder.Client.Close() }},
	}
	for _, s := range steps {
		if !p.within(s.by, s.name, func() { s.do(s.by) }) {
			p.log.Warn("one part of the node did not stop in time", "part", s.name)
		}
	}
	p.log.Info("stopped")
}

// closePatience is how long Run may take beyond ShutdownTimeout to close its clients. If no broker
// answers, that takes a second.
const closePatience = 1500 * time.Millisecond

// closer returns a function that closes the parts of Run one after the other. All share
// closePatience, which begins with the first.
func (p *Processor) closer() func(what string, f func()) {
	var by time.Time
	return func(what string, f func()) {
		if by.IsZero() {
			by = time.Now().Add(closePatience)
		}
		p.within(by, what, f)
	}
}

// within runs f and reports whether it has returned by then.
func (p *Processor) within(by time.Time, what string, f func()) bool {
	return guard.Within(time.Until(by), "stopping: "+what, func(err *guard.Error) {
		p.log.Error("stopping one part of the node failed", "part", what, "err", err, "stack", string(err.Stack))
	}, f)
}

// awaitStores waits for stores that were still being opened when their partitions were given up.
func (p *Processor) awaitStores(by time.Time) {
	p.mu.RLock()
	leaving := maps.Clone(p.leaving)
	p.mu.RUnlock()
	timeout := time.NewTimer(time.Until(by))
	defer timeout.Stop()
	for n, done := range leaving {
		select {
		case <-done:
		case <-timeout.C:
			p.log.Warn("a store is still busy, so it is not closed; it stays valid", "partition", n)
			return
		}
	}
}
