package processor

import (
	"sync"
	"sync/atomic"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// hub tells watchers which channels changed for their user in one partition. When nobody watches, a batch of deltas
// costs it one atomic load.
//
// Changes reach a watcher in two ways. A delta of its user names the channel. In a large channel messages of others
// make no deltas, so the record of a large channel tells everybody who watches the partition: whoever is no member
// finds nothing changed for him.
type hub struct {
	watchers atomic.Int32

	mu     sync.Mutex
	ended  bool
	byUser map[string]map[*Watcher]struct{}

	// Large channels that changed, oldest first; the first has number base. A watcher remembers from where on it has
	// to look, so that a change costs the same however many watch.
	large []string
	base  uint64

	record events.ChannelRecord
}

// largeLog is how many changes of large channels are kept before those are copied that a slow watcher has not seen.
const largeLog = 4096

// Watcher collects the channels that changed for one user in one partition. It is coalescing: however slow its reader
// is, it holds each channel once.
type Watcher struct {
	hub    *hub
	user   string
	signal chan struct{}

	// Under hub.mu:
	changed map[string]struct{}
	seen    uint64 // number of the first entry of hub.large that it has not seen
	stopped bool
}

// Signal receives when Changed has something to tell. It is closed when the partition stops being live here.
func (w *Watcher) Signal() <-chan struct{} { return w.signal }

// Changed returns the ids of the channels that changed since the last call, each once, in no order.
func (w *Watcher) Changed() []string {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.stopped {
		return nil
	}
	h.catchUp(w, h.base+uint64(len(h.large)))
	if len(w.changed) == 0 {
		return nil
	}
	ids := make([]string, 0, len(w.changed))
	for id := range w.changed {
		ids = append(ids, id)
	}
	clear(w.changed)
	return ids
}

// Stop ends the watch. It may be called more than once.
func (w *Watcher) Stop() {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(w)
}

func (h *hub) watch(user string) (*Watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, ErrNotOwner
	}
	w := &Watcher{
		hub: h, user: user, signal: make(chan struct{}, 1), changed: map[string]struct{}{},
		seen: h.base + uint64(len(h.large)),
	}
	if h.byUser == nil {
		h.byUser = map[string]map[*Watcher]struct{}{}
	}
	if h.byUser[user] == nil {
		h.byUser[user] = map[*Watcher]struct{}{}
	}
	h.byUser[user][w] = struct{}{}
	h.watchers.Add(1)
	return w, nil
}

func (h *hub) remove(w *Watcher) {
	if w.stopped {
		return
	}
	w.stopped, w.changed = true, nil
	delete(h.byUser[w.user], w)
	if len(h.byUser[w.user]) == 0 {
		delete(h.byUser, w.user)
	}
	if h.watchers.Add(-1) == 0 {
		h.base += uint64(len(h.large))
		h.large = nil
	}
}

// note tells the watchers what the records say. It keeps nothing that they borrow.
func (h *hub) note(records []projections.OutRecord) {
	if h.watchers.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	large := len(h.large)
	for i := range records {
		r := &records[i]
		switch r.Topic {
		case projections.OutUnread:
			for w := range h.byUser[string(r.UserID)] {
				if _, known := w.changed[string(r.ChannelID)]; !known {
					w.changed[string(r.ChannelID)] = struct{}{}
				}
				w.poke()
			}
		case projections.OutChannels:
			if events.DecodeChannelRecord(r.Value, &h.record) == nil && (h.record.Large || h.record.Deleted) {
				h.large = append(h.large, string(r.ChannelID))
			}
		}
	}
	if len(h.large) == large || h.watchers.Load() == 0 {
		return
	}
	for _, watchers := range h.byUser {
		for w := range watchers {
			w.poke()
		}
	}
	h.trim()
}

func (w *Watcher) poke() {
	select {
	case w.signal <- struct{}{}:
	default: // it has a signal that it has not taken yet
	}
}

// trim drops from the log of large channels what every watcher has seen. Those who have not seen the older half of a
// log that is too long get it copied, each channel once.
func (h *hub) trim() {
	if len(h.large) < largeLog {
		return
	}
	upTo := h.base + uint64(len(h.large)/2)
	for _, watchers := range h.byUser {
		for w := range watchers {
			h.catchUp(w, upTo)
		}
	}
	h.large = append([]string(nil), h.large[upTo-h.base:]...)
	h.base = upTo
}

// catchUp takes the changes of large channels up to a number into what changed for w.
func (h *hub) catchUp(w *Watcher, upTo uint64) {
	for ; w.seen < upTo; w.seen++ {
		w.changed[h.large[w.seen-h.base]] = struct{}{}
	}
}

// end closes all signals: the partition is not live here any more.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, watchers := range h.byUser {
		for w := range watchers {
			h.remove(w)
			close(w.signal)
		}
	}
}
