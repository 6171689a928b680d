package badge

import (
	"testing"

	"github.com/tidemark/tidemark/events"
)

// The badge of channels and threads, by level, flag and archive: it is the sum of its parts.
func TestParts(t *testing.T) {
	all, mentions, none := events.LevelAll, events.LevelMentions, events.LevelNone
	for _, c := range []struct {
		name            string
		channel, thread Part
		want            Sums
	}{
		{"all", Part{Unread: 4, Mentions: 1, Level: all}, Part{Unread: 2, Mentions: 1, Level: all},
			Sums{Unread: 4, Mentions: 1, Channels: 1, ThreadUnread: 2, ThreadMentions: 1, UnreadThreads: 1, Badge: 6}},
		{"mentions", Part{Unread: 4, Mentions: 1, Level: mentions}, Part{Unread: 2, Mentions: 1, Level: mentions},
			Sums{Unread: 4, Mentions: 1, Channels: 1, ThreadUnread: 2, ThreadMentions: 1, UnreadThreads: 1, Badge: 2}},
		{"none", Part{Unread: 4, Mentions: 1, Level: none}, Part{Unread: 2, Mentions: 1, Level: none}, Sums{}},
		{"flagged", Part{Flagged: true}, Part{}, Sums{Channels: 1, Flagged: 1, Badge: 1}},
		{"flagged, with a mention", Part{Unread: 3, Mentions: 1, Level: mentions, Flagged: true}, Part{},
			Sums{Unread: 3, Mentions: 1, Channels: 1, Flagged: 1, Badge: 1}},
		{"flagged, without", Part{Unread: 3, Level: mentions, Flagged: true}, Part{}, Sums{Unread: 3, Channels: 1, Flagged: 1, Badge: 1}},
		{"flagged and muted", Part{Unread: 3, Level: none, Flagged: true}, Part{}, Sums{Flagged: 1}},
		{"archived", Part{Unread: 3, Mentions: 2, Archived: true}, Part{Unread: 5, Archived: true}, Sums{ArchivedChannels: 1, ArchivedMentions: 2}},
		{"archived, flagged and muted", Part{Level: none, Flagged: true, Archived: true}, Part{}, Sums{ArchivedChannels: 1}},
	} {
		var s Sums
		s.AddChannel(c.channel, 1)
		s.AddThread(c.thread, 1)
		if s != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, s, c.want)
		}
		s.AddThread(c.thread, -1)
		if s.AddChannel(c.channel, -1); s != (Sums{}) {
			t.Errorf("%s, taken back: %+v", c.name, s)
		}
	}
}

// Threads of one channel add up to the same, one by one and together.
func TestThreads(t *testing.T) {
	for _, level := range []events.Level{events.LevelAll, events.LevelMentions, events.LevelNone} {
		for _, archived := range []bool{false, true} {
			var of Threads
			var alone, together Sums
			for _, p := range []Part{{Unread: 3, Mentions: 1}, {}, {Unread: 2}} {
				of.Add(p.Unread, p.Mentions, 1)
				p.Level, p.Archived = level, archived
				alone.AddThread(p, 1)
			}
			if together.AddThreads(of, level, archived, 1); together != alone {
				t.Errorf("level %d, archived %v: together %+v, one by one %+v", level, archived, together, alone)
			}
			of.Add(2, 0, -1)
			if want := (Threads{Unread: 3, Mentions: 1, Count: 1}); of != want {
				t.Errorf("one taken back: %+v, want %+v", of, want)
			}
		}
	}
}
