package processor

import (
	"context"
	"time"

	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// patience limits the steps of a release.
type patience struct {
	finish time.Duration // to finish in order
	cut    time.Duration // to end after being cut off
	commit time.Duration // for the last commit
}

// revoked returns the patience for partitions that go to another member.
func (p *Processor) revoked() patience {
	return patience{p.cfg.StopTimeout, p.cfg.StopTimeout / 10, p.cfg.StopTimeout / 2}
}

// release ends the workers of partitions: in order, with their last offsets committed, or at once.
// It returns when patience is over, even if brokers or disks hang. It cuts off workers that have
// not finished by then; a worker that is still busy (opening a large store, or with a disk that
// hangs) ends by itself later. A worker that opens the same store again waits for that.
func (p *Processor) release(numbers []int32, how inbox.StopKind, within patience) {
	var ending []*steps.Worker
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
		w.Inbox.Stop(how)
	}
	if !await(ending, within.finish) {
		p.log.Warn("partitions did not finish in time and are cut off: their new owner publishes the rest again",
			"partitions", numbers, "after", within.finish)
		for _, w := range ending {
			w.Inbox.Stop(inbox.StopAbort)
		}
		await(ending, within.cut)
	}
	for _, w := range ending { // opening workers have published nothing yet
		if life.Done(w.Opened) && !life.Done(w.Done) {
			p.publisher.Roster.Spoil(w.Number)
		}
	}
	if how == inbox.StopClean {
		spoiled := p.publisher.Roster.SpoiledOf(numbers)
		ctx, cancel := context.WithTimeout(context.Background(), within.commit)
		defer cancel()
		if err := p.committer.Flush(ctx, numbers); err != nil {
			p.log.Warn("the last offsets were not committed: the new owner publishes the last changes again", "partitions", numbers, "err", err)
		}
		if spoiled {
			p.publisher.RenewNow()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range ending {
		if next := p.workers[w.Number]; next != nil && next != w { // w failed, and the partition was opened again meanwhile
			next.Inbox.Stop(inbox.StopAbort)
			w = next
		}
		delete(p.workers, w.Number)
		p.leaving[w.Number] = w.Done
	}
	p.share()
	p.standbys.poke()
}

// await waits until the workers are done, except those that are still opening their stores: nothing
// depends on these.
func await(ws []*steps.Worker, timeout time.Duration) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for _, w := range ws {
		select {
		case <-w.Opened:
		default:
			continue
		}
		select {
		case <-w.Done:
		case <-deadline.C:
			return false
		}
	}
	return true
}
