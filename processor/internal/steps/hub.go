package steps

import (
	"sync"
	"sync/atomic"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/arrivals"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/projections"
)

// hub tells watchers which channels changed for their user in one partition, and those who watch the
// users of all partitions of the node that something changed in this one. When nobody watches, a
// batch of deltas costs it two atomic loads.
//
// Changes reach a watcher in three ways. A delta of its user names the channel. A channel's labels,
// and whether it is archived, are in the channel's record alone, which notifies the watchers of the
// channel's members when they change. In a large channel other users' messages make no deltas, so
// every record of the channel notifies these watchers: byLarge has them. It is filled when a
// watch begins, and then follows the deltas: a user who joins or leaves a large channel gets one,
// and so does every member of a channel that turns large or small.
type hub struct {
	Watchers atomic.Int32
	number   int32
	arrivals *arrivals.Registry // nil: nobody watches

	mu      sync.Mutex
	ended   bool
	byUser  map[string]map[*Watcher]struct{}
	byLarge map[string]map[*Watcher]struct{} // by channel

	record events.ChannelRecord
	delta  events.UnreadDelta
}

// Watcher collects the channels that changed for one user in one partition. It is coalescing:
// however slow its reader is, it holds each channel once.
type Watcher struct {
	hub    *hub
	user   string
	signal chan struct{}

	// Under hub.mu:
	changed map[string]struct{}
	large   map[string]struct{} // the large channels in whose byLarge it is
	stopped bool
}

// Signal receives when Changed has something to tell. It is closed when the partition stops being
// live here.
func (w *Watcher) Signal() <-chan struct{} { return w.signal }

// Changed returns the ids of the channels that changed since the last call, each once, in no order.
func (w *Watcher) Changed() []string {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
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

// Watch begins a watch. large lists the large channels that the user is a member of now; it is
// called when deltas of the user are noted already, so that no change of membership falls between
// the two.
func (h *hub) Watch(user string, large func(yield func(channelID string))) (*Watcher, error) {
	w := &Watcher{hub: h, user: user, signal: make(chan struct{}, 1), changed: map[string]struct{}{}, large: map[string]struct{}{}}
	if err := h.add(w); err != nil {
		return nil, err
	}
	var now []string
	large(func(channelID string) { now = append(now, channelID) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.stopped {
		return nil, life.ErrNotOwner
	}
	for _, channelID := range now {
		h.followLarge(w, channelID)
	}
	return w, nil
}

func (h *hub) add(w *Watcher) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return life.ErrNotOwner
	}
	if h.byUser == nil {
		h.byUser, h.byLarge = map[string]map[*Watcher]struct{}{}, map[string]map[*Watcher]struct{}{}
	}
	if h.byUser[w.user] == nil {
		h.byUser[w.user] = map[*Watcher]struct{}{}
	}
	h.byUser[w.user][w] = struct{}{}
	h.Watchers.Add(1)
	return nil
}

// followLarge lets a watcher see the records of a large channel. mu is held.
func (h *hub) followLarge(w *Watcher, channelID string) {
	if h.byLarge[channelID] == nil {
		h.byLarge[channelID] = map[*Watcher]struct{}{}
	}
	h.byLarge[channelID][w] = struct{}{}
	w.large[channelID] = struct{}{}
}

// unfollowLarge ends what followLarge began. mu is held.
func (h *hub) unfollowLarge(w *Watcher, channelID string) {
	delete(w.large, channelID)
	delete(h.byLarge[channelID], w)
	if len(h.byLarge[channelID]) == 0 {
		delete(h.byLarge, channelID)
	}
}

func (h *hub) remove(w *Watcher) {
	if w.stopped {
		return
	}
	for channelID := range w.large {
		h.unfollowLarge(w, channelID)
	}
	w.stopped, w.changed = true, nil
	delete(h.byUser[w.user], w)
	if len(h.byUser[w.user]) == 0 {
		delete(h.byUser, w.user)
	}
	h.Watchers.Add(-1)
}

// membership says who belongs to a channel now: a *projections.Partition, asked by the goroutine
// that folds.
type membership interface {
	FewMembers(channelID string, most int, fn func(userID []byte)) bool
	IsMember(userID, channelID string) bool
}

// note adds the channels that the records change to their watchers. It keeps none of the records'
// memory.
func (h *hub) note(records []projections.OutRecord, of membership) {
	h.noteArrivals(records)
	if h.Watchers.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range records {
		r := &records[i]
		switch r.Topic {
		case projections.OutUnread:
			h.noteDelta(r)
		case projections.OutChannels:
			if r.Updated {
				h.notifyMembers(string(r.ChannelID), of)
			} else if watchers := h.byLarge[string(r.ChannelID)]; len(watchers) > 0 {
				h.noteChannel(r, watchers)
			}
		}
	}
}

// noteArrivals tells those who watch users of all partitions. It comes before the hub's own
// watchers, so that a watch that begins meanwhile is told by one of the two.
func (h *hub) noteArrivals(records []projections.OutRecord) {
	if h.arrivals == nil || !h.arrivals.Any() {
		return
	}
	for i := range records {
		if r := &records[i]; r.Topic == projections.OutUnread {
			h.arrivals.Note(r.UserID, h.number)
		}
	}
}

// noteDelta notifies the watchers of a delta's user.
func (h *hub) noteDelta(r *projections.OutRecord) {
	watchers := h.byUser[string(r.UserID)]
	if len(watchers) == 0 {
		return
	}
	channelID := string(r.ChannelID)
	readable := events.DecodeUnreadDelta(r.Value, &h.delta) == nil && len(h.delta.ThreadID) == 0
	for w := range watchers {
		w.note(channelID)
		switch {
		case !readable: // or that of a thread, which does not say whether the channel is large
		case h.delta.Member && h.delta.Large:
			h.followLarge(w, channelID)
		default:
			h.unfollowLarge(w, channelID)
		}
	}
}

// noteChannel notifies the watchers of a large channel.
func (h *hub) noteChannel(r *projections.OutRecord, watchers map[*Watcher]struct{}) {
	if events.DecodeChannelRecord(r.Value, &h.record) != nil || !h.record.Large && !h.record.Deleted {
		return
	}
	noteAll(watchers, string(r.ChannelID))
}

// notifyMembers notifies the watchers of a channel whose labels changed, or whether it is archived.
// A user who left since, or whose channel is gone since, is told by a delta. The hub's mu is held.
func (h *hub) notifyMembers(channelID string, of membership) {
	if of.FewMembers(channelID, len(h.byUser), func(userID []byte) { noteAll(h.byUser[string(userID)], channelID) }) {
		return
	}
	for userID, watchers := range h.byUser {
		if of.IsMember(userID, channelID) {
			noteAll(watchers, channelID)
		}
	}
}

func noteAll(watchers map[*Watcher]struct{}, channelID string) {
	for w := range watchers {
		w.note(channelID)
	}
}

// note adds a channel that changed. The hub's mu is held.
func (w *Watcher) note(channelID string) {
	w.changed[channelID] = struct{}{}
	select {
	case w.signal <- struct{}{}:
	default: // it has a signal that it has not taken yet
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
