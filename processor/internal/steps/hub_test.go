package steps

import (
	"errors"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/watchtest"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/projections"
)

func delta(user, channel string) projections.OutRecord { return deltaOf(user, channel, true, false) }

// deltaOf returns a delta of a member or non-member, of a large or small channel.
func deltaOf(user, channel string, member, large bool) projections.OutRecord {
	return projections.OutRecord{
		Topic: projections.OutUnread, UserID: []byte(user), ChannelID: []byte(channel),
		Value: events.AppendUnreadDelta(nil, &events.UnreadDelta{UserID: []byte(user), ChannelID: []byte(channel), Member: member, Large: large}),
	}
}

func channelRecord(channel string, large bool) projections.OutRecord {
	return projections.OutRecord{Topic: projections.OutChannels, ChannelID: []byte(channel),
		Value: events.AppendChannelRecord(nil, &events.ChannelRecord{ChannelID: []byte(channel), Large: large})}
}

// belong has the members of channels.
type belong map[string][]string

func (b belong) IsMember(userID, channelID string) bool { return slices.Contains(b[channelID], userID) }

func (b belong) FewMembers(channelID string, most int, fn func(userID []byte)) bool {
	if len(b[channelID]) > most {
		return false
	}
	for _, userID := range b[channelID] {
		fn([]byte(userID))
	}
	return true
}

// watching begins a watch of a user who is a member of the given large channels.
func watching(t *testing.T, h *hub, user string, large ...string) *Watcher {
	t.Helper()
	w, err := h.Watch(user, func(yield func(string)) {
		for _, id := range large {
			yield(id)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func signalled(w *Watcher) bool {
	select {
	case _, open := <-w.Signal():
		return open
	default:
		return false
	}
}

func changed(w *Watcher) []string { return slices.Sorted(slices.Values(w.Changed())) }

func TestWatcherHearsOfItsUser(t *testing.T) {
	var h hub
	h.note([]projections.OutRecord{delta("u", "before")}, belong{})
	u, again, other := watching(t, &h, "u"), watching(t, &h, "u"), watching(t, &h, "o")
	records := []projections.OutRecord{delta("u", "a"), delta("u", "b"), delta("u", "a"), delta("x", "c"), channelRecord("a", false)}
	h.note(records, belong{})
	records[0].ChannelID[0] = 'z' // as when the memory of deltas is reused
	for _, w := range []*Watcher{u, again} {
		if !signalled(w) {
			t.Error("no signal")
		}
		if got := changed(w); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("changed are %v, want a and b", got)
		}
		if got := changed(w); got != nil {
			t.Errorf("told again of %v", got)
		}
	}
	if signalled(other) || changed(other) != nil {
		t.Error("another user's watcher heard of it")
	}
}

// TestWatcherKeepsTheContract checks the promises of package watch to the reader of a watcher.
func TestWatcherKeepsTheContract(t *testing.T) {
	watchtest.Check(t, func(t *testing.T) watchtest.Watched {
		var h hub
		return watchtest.Watched{
			Watcher: watching(t, &h, "u"), End: h.end,
			Change: func(channelID string) { h.note([]projections.OutRecord{delta("u", channelID)}, belong{}) },
		}
	})
}

// TestLargeChannelWakesItsMembers: the record of a large channel wakes the watchers of its members
// and no others, however users became members or stopped being members.
func TestLargeChannelWakesItsMembers(t *testing.T) {
	var h hub
	member, stranger := watching(t, &h, "u", "big"), watching(t, &h, "v", "other")
	big := []projections.OutRecord{channelRecord("big", true), channelRecord("small", false)}
	hears := func(w *Watcher, want ...string) {
		t.Helper()
		if woken := signalled(w); woken != (len(want) > 0) {
			t.Errorf("woken: %v", woken)
		}
		if got := changed(w); !slices.Equal(got, want) {
			t.Errorf("changed are %v, want %v", got, want)
		}
	}
	h.note(big, belong{})
	hears(member, "big")
	hears(stranger)
	late := watching(t, &h, "u", "big")
	hears(late) // changes from before the watch

	h.note([]projections.OutRecord{deltaOf("v", "big", true, true)}, belong{}) // joins
	hears(stranger, "big")
	h.note(big, belong{})
	hears(stranger, "big")
	h.note([]projections.OutRecord{deltaOf("v", "big", false, true)}, belong{}) // leaves
	hears(stranger, "big")
	h.note(big, belong{})
	hears(stranger)

	h.note([]projections.OutRecord{deltaOf("u", "big", true, false)}, belong{}) // the channel becomes small: deltas carry its changes
	hears(late, "big")
	h.note([]projections.OutRecord{channelRecord("big", false)}, belong{})
	hears(late)
	member.Stop()
	late.Stop()
	stranger.Stop()
	if len(h.byLarge) != 0 {
		t.Errorf("left are %v", h.byLarge)
	}
}

// TestUpdatedChannelWakesItsMembers: changes that only the channel record has wake the watchers of
// the channel's members, whether there are more watchers or more members, and no others.
func TestUpdatedChannelWakesItsMembers(t *testing.T) {
	record := channelRecord("town", false)
	record.Updated = true
	for what, of := range map[string]belong{
		"few members":  {"town": {"u", "away"}, "other": {"v"}},
		"many members": {"town": {"u", "away", "gone", "asleep"}, "other": {"v"}},
	} {
		var h hub
		u, again, v := watching(t, &h, "u"), watching(t, &h, "u"), watching(t, &h, "v", "other")
		h.note([]projections.OutRecord{record}, of)
		for _, w := range []*Watcher{u, again} {
			if !signalled(w) || !slices.Equal(changed(w), []string{"town"}) {
				t.Errorf("%s: %s gets no change", what, w.user)
			}
		}
		if signalled(v) || changed(v) != nil {
			t.Errorf("%s: a stranger is woken", what)
		}
		for _, w := range []*Watcher{u, again, v} {
			w.Stop()
		}
	}
}

// TestMembershipThatChangesAsAWatchBegins: a join that is noted between the beginning of a watch
// and the listing of its user's channels is not lost.
func TestMembershipThatChangesAsAWatchBegins(t *testing.T) {
	var h hub
	w, err := h.Watch("u", func(yield func(string)) {
		h.note([]projections.OutRecord{deltaOf("u", "big", true, true)}, belong{})
		yield("other")
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Changed()
	h.note([]projections.OutRecord{channelRecord("big", true), channelRecord("other", true)}, belong{})
	if got := changed(w); !slices.Equal(got, []string{"big", "other"}) {
		t.Errorf("changed are %v, want both", got)
	}
	if _, err := h.Watch("v", func(func(string)) { h.end() }); !errors.Is(err, life.ErrNotOwner) {
		t.Errorf("a partition that goes as a watch begins: %v", err)
	}
}

func TestStoppedWatcherLeavesNothing(t *testing.T) {
	var h hub
	w := watching(t, &h, "u", "big")
	h.note([]projections.OutRecord{delta("u", "a"), channelRecord("big", true)}, belong{})
	w.Stop()
	w.Stop()
	if h.Watchers.Load() != 0 || len(h.byUser) != 0 || len(h.byLarge) != 0 {
		t.Errorf("left are %d watchers, users %v, channels %v", h.Watchers.Load(), h.byUser, h.byLarge)
	}
	if changed(w) != nil {
		t.Error("a stopped watcher tells of changes")
	}
	h.note([]projections.OutRecord{delta("u", "b")}, belong{})
}

func TestEndClosesTheSignals(t *testing.T) {
	var h hub
	w := watching(t, &h, "u")
	h.end()
	if _, open := <-w.Signal(); open {
		t.Error("the signal is not closed")
	}
	w.Stop()
	if _, err := h.Watch("u", func(func(string)) {}); !errors.Is(err, life.ErrNotOwner) {
		t.Errorf("watching a partition that is gone: %v", err)
	}
}

func BenchmarkNoteWithoutWatchers(b *testing.B) {
	var h hub
	records := []projections.OutRecord{delta("u", "a"), channelRecord("a", true)}
	for b.Loop() {
		h.note(records, belong{})
	}
}
