package processor

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Partitions is the partition count of the input topics; 0 while it is not known yet.
func (p *Processor) Partitions() int32 {
	if id := p.cluster.Load(); id != nil {
		return id.partitions
	}
	return 0
}

// Live returns the projections of partition n if this process owns it and it has caught up; else ErrNotOwner,
// ErrOpening, or why the partition failed. It takes no lock of the partition. If it returns the same projections while
// the caller holds their RLock, they stay open until RUnlock.
func (p *Processor) Live(n int32) (*projections.Partition, error) {
	w := p.worker(n)
	if w == nil {
		return nil, ErrNotOwner
	}
	if part := w.live.Load(); part != nil {
		return part, nil
	}
	return nil, w.notLive()
}

// Wait returns when partition n has folded the record of in at offset. It fails like Live if the partition is not live
// here or stops being so, and with ctx.
func (p *Processor) Wait(ctx context.Context, n int32, in events.Input, offset int64) error {
	if in >= events.NumInputs {
		return fmt.Errorf("no input has number %d", in)
	}
	w := p.worker(n)
	if w == nil {
		return ErrNotOwner
	}
	if w.State() == StateOpening {
		return ErrOpening
	}
	return w.progress.wait(ctx, in, offset)
}

// Watch reports which channels change for a user in partition n from now on. It fails like Live.
func (p *Processor) Watch(n int32, userID string) (*Watcher, error) {
	w := p.worker(n)
	if w == nil {
		return nil, ErrNotOwner
	}
	if w.live.Load() == nil {
		return nil, w.notLive()
	}
	return w.hub.watch(userID)
}

// Owner is the URL that the owner of partition n advertises, possibly empty, as of the last stable view of the group:
// where that is asked for often, and the brokers answer, it is about half a second old. For a partition that is live here
// it is this process's own.
func (p *Processor) Owner(ctx context.Context, n int32) (string, error) {
	if w := p.worker(n); w != nil && w.live.Load() != nil {
		return p.cfg.Advertise, nil
	}
	return p.directory.owner(ctx, n, p.cfg.Advertise)
}

// RelayKey is what the node at a URL has told the group, as of the last stable view of it: a caller who shows it there is
// another node, for nobody else may ask the group. For this process's own URL it is its own. Empty: none is known.
func (p *Processor) RelayKey(url string) string {
	if url == p.cfg.Advertise {
		return p.relayKey
	}
	return p.directory.relayKey(url)
}

// Status is that of each partition that this process owns, in order.
func (p *Processor) Status() []PartitionStatus {
	ws := p.owned()
	list := make([]PartitionStatus, len(ws))
	for i, w := range ws {
		list[i] = w.status()
	}
	return list
}

// Ready reports whether the process is in its group and all partitions that it owns are live, with a line for each
// partition and for what else is wrong. A member that owns nothing is ready.
func (p *Processor) Ready() (bool, []string) {
	p.mu.RLock()
	joined, ws := p.joined, p.inOrder() // as of one moment: who owns nothing is ready only if that is what the group says
	p.mu.RUnlock()
	var lines []string
	ready := true
	switch err := p.groupErr.Load(); {
	case p.ended.Load():
		ready, lines = false, append(lines, "stopped")
	case err != nil:
		ready, lines = false, append(lines, (*err).Error())
	case isDone(p.stopping):
		ready, lines = false, append(lines, "stopping")
	case !joined:
		ready, lines = false, append(lines, "joining group "+p.cfg.Group)
	}
	for _, w := range ws {
		s := w.status()
		ready = ready && s.State == StateLive && s.Full == nil
		lines = append(lines, s.String())
	}
	for _, s := range p.Standbys() {
		lines = append(lines, s.String())
	}
	return ready, lines
}

func (p *Processor) worker(n int32) *worker {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.workers[n]
}

func (p *Processor) owned() []*worker {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.inOrder()
}

// inOrder are the workers of the partitions that this process owns. mu is held.
func (p *Processor) inOrder() []*worker {
	ws := make([]*worker, 0, len(p.workers))
	for _, w := range p.workers {
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(a, b *worker) int { return int(a.number - b.number) })
	return ws
}

func (p *Processor) ownedNumbers() []int32 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return sortedKeys(p.workers)
}

// notLive is why a worker without live projections has none.
func (w *worker) notLive() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	if w.State() == StateOpening {
		return ErrOpening
	}
	return ErrNotOwner
}

func (w *worker) status() PartitionStatus {
	s := PartitionStatus{Partition: w.number, State: w.State(), Position: w.progress.at()}
	for i := range s.Ends {
		s.Ends[i] = max(w.ends[i].Load(), s.Position[i])
		s.Lag[i] = s.Ends[i] - s.Position[i]
	}
	if o := w.opening.Load(); o != nil && s.State == StateOpening {
		s.Progress, s.Rate, s.ETA, s.Restoring = o.done, o.rate, o.eta, o.bytes
	}
	if s.State == StateLive || s.State == StateStopping {
		s.Progress = 1
	}
	if err := w.room.reason.Load(); err != nil {
		s.Full = *err
	}
	if err := w.failure.Load(); err != nil {
		s.State, s.Err = StateFailed, *err
		if at := w.retryAt.Load(); at != nil {
			s.Retry = *at
		}
	}
	return s
}
