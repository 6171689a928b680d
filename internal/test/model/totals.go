package model

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// Totals are the sums over a user's channels at a time (DESIGN §4.7).
type Totals struct {
	Unread, Mentions, UnreadChannels                   uint32
	ThreadUnread, ThreadMentions, UnreadThreads        uint32
	Badge, Flagged, ArchivedChannels, ArchivedMentions uint32
}

// Totals returns the totals of a user as of now, in Unix milliseconds. With a label it includes
// only the channels that have it. always means that threads stay listed permanently.
func (m *Model) Totals(user, label string, now int64, always bool) (t Totals) {
	panel := m.panelOf(user, always)
	for _, id := range m.Channels() {
		v, ok := m.View(user, id)
		if !ok || !v.Member {
			continue
		}
		if label != "" && !slices.Contains(m.LabelsOf(user, id), label) {
			continue
		}
		if m.Archived(user, id) {
			if v.Unread > 0 || v.Flagged {
				t.ArchivedChannels++
			}
			t.ArchivedMentions += v.Mentions
			continue
		}
		if v.Flagged {
			t.Flagged++
		}
		level := LevelAt(&v, now)
		if level == events.LevelNone {
			continue
		}
		t.Unread += v.Unread
		t.Mentions += v.Mentions
		if v.Unread > 0 || v.Flagged {
			t.UnreadChannels++
		}
		badge := v.Unread
		if level == events.LevelMentions {
			badge = v.Mentions
		}
		if badge == 0 && v.Flagged {
			badge = 1
		}
		t.Badge += badge
		for _, th := range panel {
			if th.ChannelID != id {
				continue
			}
			t.ThreadUnread += th.Unread
			t.ThreadMentions += th.Mentions
			if th.Unread > 0 {
				t.UnreadThreads++
			}
			if level == events.LevelMentions {
				t.Badge += th.Mentions
			} else {
				t.Badge += th.Unread
			}
		}
	}
	return t
}

// Archived reports whether a channel is archived for the user: filed by them, or archived for
// everybody.
func (m *Model) Archived(user, channelID string) bool {
	v, _ := m.View(user, channelID)
	return v.Archived
}

// LabelsOf returns the labels under which a channel counts for the user: the channel's own and the
// user's, sorted.
func (m *Model) LabelsOf(user, channelID string) []string {
	x, _ := m.View(user, channelID)
	c, _ := m.Channel(channelID)
	all := slices.Concat(x.Labels, c.Labels)
	slices.Sort(all)
	return slices.Compact(all)
}

// ToMarkRead returns the channels that MarkAllRead writes a read for, by id: among those of a
// label, or all, the ones with unread messages or a flag and, with threads, the ones with unread
// replies in a followed thread.
func (m *Model) ToMarkRead(user, label string, threads bool) (out []string) {
	for _, id := range m.Channels() {
		v, ok := m.View(user, id)
		if !ok || !v.Member || (label != "" && !slices.Contains(m.LabelsOf(user, id), label)) {
			continue
		}
		in := false
		for _, t := range m.Threads(id) {
			tv, _ := m.Thread(user, id, t)
			in = in || (threads && tv.Unread > 0)
		}
		if v.Unread > 0 || v.Flagged || in {
			out = append(out, id)
		}
	}
	return out
}
