package steps

import (
	"sync"
	"sync/atomic"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/arrivals"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/projections"
)

// hub notifies watchers of the channels that change for their user in one partition. It also
// notifies watches of a user in all partitions of the node that something changed in this one.
// Without watches, a batch of deltas costs two atomic loads.
//
// Changes reach a watcher in three ways. A delta of its user names the channel. Labels and
// archiving of a channel are only in the channel record, which notifies the watchers of the
// channel's members when they change. In a large channel other users' messages make no deltas, so
// every record of the channel notifies these watchers: byLarge has them. byLarge is filled when a
// watch begins, and then follows the deltas: a user who joins or leaves a large channel gets one,
// and so does every member of a channel that turns large or small.
type hub struct {
	Watchers atomic.Int32
	number   int32
	arrivals *arrivals.Registry // nil: there are no such watches

	mu      sync.Mutex
	ended   bool
	byUser  map[string]map[*Watcher]struct{}
	byLarge map[string]map[*Watcher]struct{} // by channel

	record events.ChannelRecord
	delta  events.UnreadDelta
}

// Watcher collects the channels that change for one user in one partition. It coalesces: however
// slow its reader is, it holds each channel once.
type Watcher struct {
	hub    *hub
	user   string
	signal chan struct{}

	// The hub's mu guards these:
	changed map[string]struct{}
	large   map[string]struct{} // the large channels whose byLarge entry has the watcher
	stopped bool
}

// Signal receives a value when Changed has news. It is closed when the partition stops being live
// here.
func (w *Watcher) Signal() <-chan struct{} { return w.signal }

// Changed returns the ids of the channels that changed since the last call, each once, in no
// particular order.
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

// Watch begins a watch. large lists the large channels that the user is a member of now. Watch
// calls it after it has begun to note the user's deltas, so that it misses no change of membership.
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

// followLarge notifies a watcher of the records of a large channel. The caller holds mu.
func (h *hub) followLarge(w *Watcher, channelID string) {
	if h.byLarge[channelID] == nil {
		h.byLarge[channelID] = map[*Watcher]struct{}{}
	}
	h.byLarge[channelID][w] = struct{}{}
	w.large[channelID] = struct{}{}
}

// unfollowLarge undoes followLarge. The caller holds mu.
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

// membership returns the current members of a channel. It is a *projections.Partition; the
// goroutine that folds calls it.
type membership interface {
	FewMembers(channelID string, most int, fn func(userID []byte)) bool
	IsMember(userID, channelID string) bool
}

// note adds the channels that the records change to their watchers. It keeps no reference to the
// records' memory.
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

// noteArrivals notifies the watches of users in all partitions. It runs before the hub notifies its
// own watchers, so that one of the two notifies a watch that begins meanwhile.
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
		case !readable: // or a thread's delta, which does not state whether the channel is large
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

// notifyMembers notifies the watchers of a channel whose labels or archiving changed. A delta
// notifies a user who has left since, or whose channel is gone. The caller holds the hub's mu.
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

// note adds a changed channel. The caller holds the hub's mu.
func (w *Watcher) note(channelID string) {
	w.changed[channelID] = struct{}{}
	select {
	case w.signal <- struct{}{}:
	default: // an earlier signal is still pending
	}
}

// end closes all signals: the partition is no longer live here.
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
