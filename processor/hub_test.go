package processor

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

func delta(user, channel string) projections.OutRecord {
	return projections.OutRecord{Topic: projections.OutUnread, UserID: []byte(user), ChannelID: []byte(channel)}
}

func channelRecord(channel string, large bool) projections.OutRecord {
	return projections.OutRecord{Topic: projections.OutChannels, ChannelID: []byte(channel),
		Value: events.AppendChannelRecord(nil, &events.ChannelRecord{ChannelID: []byte(channel), Large: large})}
}

func watch(t *testing.T, h *hub, user string) *Watcher {
	t.Helper()
	w, err := h.watch(user)
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
	h.note([]projections.OutRecord{delta("u", "before")})
	u, again, other := watch(t, &h, "u"), watch(t, &h, "u"), watch(t, &h, "o")
	records := []projections.OutRecord{delta("u", "a"), delta("u", "b"), delta("u", "a"), delta("x", "c"), channelRecord("a", false)}
	h.note(records)
	records[0].ChannelID[0] = 'z' // the memory of deltas is used again
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

func TestWatcherHearsOfLargeChannels(t *testing.T) {
	var h hub
	w := watch(t, &h, "u")
	h.note([]projections.OutRecord{channelRecord("big", true), channelRecord("small", false)})
	late := watch(t, &h, "u")
	if !signalled(w) || !slices.Equal(changed(w), []string{"big"}) {
		t.Error("a large channel's record was not told")
	}
	if signalled(late) || changed(late) != nil {
		t.Error("told of what was before the watch")
	}
}

func TestSlowWatcherMissesNothing(t *testing.T) {
	var h hub
	slow, quick := watch(t, &h, "u"), watch(t, &h, "v")
	want := map[string]bool{}
	for i := range 3 * largeLog {
		name := fmt.Sprintf("c%d", i%1000)
		want[name] = true
		h.note([]projections.OutRecord{channelRecord(name, true)})
		if i%10 == 0 {
			quick.Changed()
		}
	}
	if n := len(h.large); n > largeLog {
		t.Errorf("%d changes are kept", n)
	}
	if got := slow.Changed(); len(got) != len(want) {
		t.Errorf("the slow watcher heard of %d channels, want %d", len(got), len(want))
	}
}

func TestStoppedWatcherLeavesNothing(t *testing.T) {
	var h hub
	w := watch(t, &h, "u")
	h.note([]projections.OutRecord{delta("u", "a"), channelRecord("big", true)})
	w.Stop()
	w.Stop()
	if h.watchers.Load() != 0 || len(h.byUser) != 0 || len(h.large) != 0 {
		t.Errorf("left are %d watchers, users %v, channels %v", h.watchers.Load(), h.byUser, h.large)
	}
	if changed(w) != nil {
		t.Error("a stopped watcher tells of changes")
	}
	h.note([]projections.OutRecord{delta("u", "b")})
}

func TestEndClosesTheSignals(t *testing.T) {
	var h hub
	w := watch(t, &h, "u")
	h.end()
	if _, open := <-w.Signal(); open {
		t.Error("the signal is not closed")
	}
	w.Stop()
	if _, err := h.watch("u"); !errors.Is(err, ErrNotOwner) {
		t.Errorf("watching a partition that is gone: %v", err)
	}
}

func BenchmarkNoteWithoutWatchers(b *testing.B) {
	var h hub
	records := []projections.OutRecord{delta("u", "a"), channelRecord("a", true)}
	for b.Loop() {
		h.note(records)
	}
}
