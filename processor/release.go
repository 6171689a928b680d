package processor

import (
	"context"
	"time"
)

// release ends the workers of partitions: in order, with their last offsets committed, or at once. It returns within
// about StopTimeout, whatever brokers and disks do: what does not finish by then is cut off, and what is busy even so
// (opening a large store, a disk that hangs) ends by itself later. A worker that opens the same store again waits for
// that.
func (p *Processor) release(numbers []int32, how stopKind) {
	var ending []*worker
	p.mu.RLock()
	for _, n := range numbers {
		if w := p.workers[n]; w != nil {
			ending = append(ending, w)
		}
	}
	p.mu.RUnlock()
	if len(ending) == 0 {
		return
	}
	for _, w := range ending {
		w.inbox.stop(how)
	}
	if !await(ending, p.cfg.StopTimeout) {
		p.log.Warn("partitions did not finish in time and are cut off: their new owner publishes the rest again",
			"partitions", numbers, "after", p.cfg.StopTimeout)
		for _, w := range ending {
			w.inbox.stop(stopAbort)
		}
		await(ending, p.cfg.StopTimeout/10)
	}
	if how == stopClean {
		ctx, cancel := context.WithTimeout(context.Background(), p.cfg.StopTimeout/2)
		defer cancel()
		if err := p.committer.flush(ctx, numbers); err != nil {
			p.log.Warn("the last offsets were not committed: the new owner publishes a little again", "partitions", numbers, "err", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range ending {
		delete(p.workers, w.number)
		p.leaving[w.number] = w.done
	}
	p.share()
	p.standbys.poke()
}

// await waits until the workers are done, but for those that are still opening their stores: nothing depends on these.
func await(ws []*worker, timeout time.Duration) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for _, w := range ws {
		select {
		case <-w.opened:
		default:
			continue
		}
		select {
		case <-w.done:
		case <-deadline.C:
			return false
		}
	}
	return true
}
