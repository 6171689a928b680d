package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// deviceSettings are the settings of DESIGN §4.7 in a frame about a channel. A frame about a thread
// has only the mentions.
type deviceSettings struct {
	Direct                              uint32
	FirstMention, Line                  projections.Ref
	Level, After                        events.Level
	Until                               int64
	IgnoreAll, Flagged, Archived, Keeps bool
	Labels, Own                         string
}

// frameSettings are the fields of a frame that contain the settings.
type frameSettings struct {
	Direct       uint32              `json:"direct_mentions"`
	FirstMention frameRef            `json:"first_mention"`
	Level        string              `json:"level"`
	Until        time.Time           `json:"until"`
	LevelAfter   string              `json:"level_after"`
	IgnoreAll    bool                `json:"ignore_mention_all"`
	Flagged      bool                `json:"flagged"`
	Filed        struct{ Keep bool } `json:"filed"`
	Archived     bool                `json:"archived"`
	Line         frameRef            `json:"line"`
	Labels       []string            `json:"labels"`
	OwnLabels    []string            `json:"own_labels"`
}

func (s *frameSettings) settings() deviceSettings {
	t := deviceSettings{
		Direct: s.Direct, FirstMention: projections.Ref(s.FirstMention), Line: projections.Ref(s.Line),
		Level: levelNamed(s.Level), After: levelNamed(s.LevelAfter),
		IgnoreAll: s.IgnoreAll, Flagged: s.Flagged, Archived: s.Archived, Keeps: s.Filed.Keep,
		Labels: strings.Join(s.Labels, ","), Own: strings.Join(s.OwnLabels, ","),
	}
	if !s.Until.IsZero() {
		t.Until = s.Until.UnixMilli()
	}
	return t
}

// levelNamed returns the level with a name in a frame; no name means ALL.
func levelNamed(name string) events.Level {
	return events.Level(max(0, slices.Index(events.LevelNames[:], name))) //nolint:gosec // there are three
}

// settingsOf returns the settings that a frame of the channel must have.
func settingsOf(c *Channel) deviceSettings {
	return deviceSettings{
		Direct: c.DirectMentions, FirstMention: c.FirstMention, Line: c.Line,
		Level: c.Levels.Level, After: c.Levels.After, Until: c.Levels.Until,
		IgnoreAll: c.IgnoreAll, Flagged: c.Flagged, Archived: c.Archived, Keeps: c.Keep,
		Labels: strings.Join(c.Labels, ","), Own: strings.Join(c.OwnLabels, ","),
	}
}

// totals are the sums in a frame.
type totals struct {
	Unread         uint32 `json:"unread"`
	Mentions       uint32 `json:"mentions"`
	Channels       uint32 `json:"unread_channels"`
	ThreadUnread   uint32 `json:"thread_unread"`
	ThreadMentions uint32 `json:"thread_mentions"`
	Threads        uint32 `json:"unread_threads"`
	Badge          uint32 `json:"badge"`
	Flagged        uint32 `json:"flagged"`
	Archived       struct {
		Channels uint32 `json:"unread_channels"`
		Mentions uint32 `json:"mentions"`
	} `json:"archived"`
}

// deviceTotals returns the sums that a frame must have.
func deviceTotals(t *model.Totals) (out totals) {
	out = totals{
		Unread: t.Unread, Mentions: t.Mentions, Channels: t.UnreadChannels, ThreadUnread: t.ThreadUnread, ThreadMentions: t.ThreadMentions,
		Threads: t.UnreadThreads, Badge: t.Badge, Flagged: t.Flagged,
	}
	out.Archived.Channels, out.Archived.Mentions = t.ArchivedChannels, t.ArchivedMentions
	return out
}

// hidden reports whether the sender of a message hid it from a user. The message always exists for
// its sender.
func hidden(m *events.Message, user string) bool {
	return string(m.SenderID) != user && slices.ContainsFunc(m.HiddenFrom, func(id []byte) bool { return string(id) == user })
}
