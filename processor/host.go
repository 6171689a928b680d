package processor

import (
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// host runs the workers of a Processor.
type host struct{ p *Processor }

// CloseInbox closes a worker's inbox. It pauses the inputs of a failed partition, unless the
// partition has a new owner meanwhile (possibly this process again).
func (h host) CloseInbox(w *steps.Worker, failed bool) {
	h.p.mu.RLock()
	defer h.p.mu.RUnlock()
	w.Inbox.Close(failed && h.p.workers[w.Number] == w)
}

// Reopen opens a partition again after its worker w has failed. Either the store was found corrupt
// at runtime, so the next worker finds no store and looks for a snapshot; or the cause of the
// failure may have passed (steps/failing.go). Reopen reports whether this process still owns the
// partition.
func (h host) Reopen(w *steps.Worker, change func(next *steps.Worker)) bool {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	if h.p.workers[w.Number] != w {
		return false
	}
	h.p.pause(w.Number)
	next := h.p.newWorker(w.Number, h.p.consumer)
	change(next)
	next.Postponed.Store(true)
	next.After = w.Done
	h.p.workers[w.Number] = next
	h.p.share()
	next.Launch()
	h.p.launchLater(next)
	return true
}
func (h host) HasWorker(w *steps.Worker) bool { return h.p.worker(w.Number) == w }

func (h host) Spoil(partition int32) {
	if h.p.publisher != nil { // Run creates it
		h.p.publisher.Roster.Spoil(partition)
	}
}

func (h host) Ending() <-chan struct{} { return h.p.stopping }

// Publish, Apply and Acknowledged implement outside.

func (h host) Publish(w *steps.Worker, records outputs.Outgoing) {
	h.p.publisher.Publish(w.Ctx, w.Number, records, w.Inbox.PublishDone)
}

func (h host) Apply(w *steps.Worker, c setup.Cut) { steps.Apply(h.p.engine, w, c) }

func (h host) Acknowledged(partition int32, position projections.Position) {
	h.p.committer.Note(partition, position)
}

func (h host) Committed(partition int32) projections.Position {
	return h.p.committer.Committed(partition)
}
