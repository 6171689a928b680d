package processor

import (
	"context"
	"fmt"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// Partitions returns the partition count of the input topics, 0 while it is unknown.
func (p *Processor) Partitions() int32 { return p.engine.Partitions() }

// Live returns the projections of partition n if this process owns it and it has caught up;
// otherwise it fails with ErrNotOwner, ErrOpening, or the reason why the partition failed. It takes
// no lock of the partition. If it returns the same projections while the caller holds their RLock,
// they stay open until RUnlock.
func (p *Processor) Live(n int32) (*projections.Partition, error) {
	_, part, err := p.live(n)
	return part, err
}

// liveWorker returns the worker of a partition that is live here at this moment. It fails like
// Live.
func (p *Processor) liveWorker(n int32) (*steps.Worker, error) {
	w, _, err := p.live(n)
	return w, err
}

func (p *Processor) live(n int32) (*steps.Worker, *projections.Partition, error) {
	w := p.worker(n)
	if w == nil {
		return nil, nil, ErrNotOwner
	}
	if part := w.Live.Load(); part != nil {
		return w, part, nil
	}
	return nil, nil, w.NotLive()
}

// Wait returns when partition n has folded the record of in at offset. It fails like Live if the
// partition is not live here or stops being live, and with ctx.
func (p *Processor) Wait(ctx context.Context, n int32, in events.Input, offset int64) error {
	if in >= events.NumInputs {
		return fmt.Errorf("no input has number %d", in)
	}
	w := p.worker(n)
	if w == nil {
		return ErrNotOwner
	}
	if w.Life.State().Opens() {
		return ErrOpening
	}
	return w.Progress.Wait(ctx, in, offset)
}

// Watch reports which channels change for a user in partition n from now on. It fails like Live, and
// with projections.ErrListing while the partition does not know all channels of its users.
func (p *Processor) Watch(n int32, userID string) (watch.Watcher, error) {
	w := p.worker(n)
	if w == nil {
		return nil, ErrNotOwner
	}
	part := w.Live.Load()
	if part == nil {
		return nil, w.NotLive()
	}
	if !part.Listed() {
		return nil, projections.ErrListing
	}
	watcher, err := w.Hub.Watch(userID, func(yield func(string)) {
		if !part.MayKnow(projections.UserHash(userID)) {
			return
		}
		part.RLock()
		defer part.RUnlock()
		defer part.TimeHold("WatchUnread begins")()
		part.LargeChannels(userID, yield)
	})
	if err != nil {
		return nil, err
	}
	return watcher, nil
}

// Arrivals reports in which partitions of this process something changes for a user from now on.
func (p *Processor) Arrivals(userID string) watch.Arrivals { return p.engine.Arrivals.Begin(userID) }

// MayHold reports whether partition n, which is not live here, may hold anything of the user with
// this projections.UserHash. It returns false only if the partition failed here after it was live,
// has been assigned to this process ever since, and had nothing of the user.
func (p *Processor) MayHold(n int32, user uint64) bool {
	w := p.worker(n)
	if w == nil {
		return true
	}
	known := w.Known.Load()
	return known == nil || known.May(user)
}

// Owner returns the URL that the owner of partition n advertises, possibly empty, in the last
// stable view of the group. If callers ask often and the brokers answer, the view is about half a
// second old. For a partition that is live here it is this process's own URL.
func (p *Processor) Owner(ctx context.Context, n int32) (string, error) {
	if w := p.worker(n); w != nil && w.Live.Load() != nil {
		return p.cfg.Advertise, nil
	}
	return p.directory.Owner(ctx, n, p.cfg.Advertise)
}

// RelayKey returns the relay key that the node at a URL has published to the group, in the last
// stable view, or "". A caller that presents this key to that node counts as a node, because only
// nodes may read the group. For this process's own URL it is its own key.
func (p *Processor) RelayKey(url string) string {
	if url == p.cfg.Advertise {
		return p.relayKey
	}
	return p.directory.RelayKey(url)
}

// Status returns the status of each partition that this process owns, in order.
func (p *Processor) Status() []PartitionStatus {
	ws := p.owned()
	list := make([]PartitionStatus, len(ws))
	for i, w := range ws {
		list[i] = w.Status()
	}
	return list
}

// Stats returns the statistics of partition n if it is live here.
func (p *Processor) Stats(n int32) (s projections.Stats, d projections.Disk, live bool) {
	w, part, err := p.live(n)
	if err != nil {
		return s, d, false
	}
	return w.Stats(part)
}

// Ready reports whether the process is in its group and all its partitions are live, with a line
// for each partition and each other problem. A member without partitions is ready.
func (p *Processor) Ready() (bool, []string) {
	p.mu.RLock()
	joined, ws := p.joined, p.inOrder() // under one lock: a member without partitions is ready only if it has joined
	p.mu.RUnlock()
	var lines []string
	ready := true
	switch err := p.engine.GroupErr.Load(); {
	case p.ended.Load():
		ready, lines = false, append(lines, "stopped")
	case err != nil:
		ready, lines = false, append(lines, (*err).Error())
	case life.Done(p.stopping):
		ready, lines = false, append(lines, "stopping")
	case !joined:
		ready, lines = false, append(lines, "joining group "+p.cfg.Group)
	}
	for _, w := range ws {
		s := w.Status()
		ready = ready && s.State == StateLive && s.Full == nil
		lines = append(lines, s.String())
	}
	for _, s := range p.Standbys() {
		lines = append(lines, s.String())
	}
	return ready, lines
}
