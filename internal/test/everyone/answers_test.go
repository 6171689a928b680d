package everyone

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
)

// answer is what one source tells a user. The JSON of GetInbox, of the function in Redis and of
// both devices has the same field names.
type answer struct {
	Totals   sums            `json:"totals"`
	ByLabel  map[string]sums `json:"totals_by_label"`
	Channels []channel       `json:"channels"`
	Threads  []thread        `json:"threads"`
}

type sums struct {
	Unread         uint64 `json:"unread"`
	Mentions       uint64 `json:"mentions"`
	UnreadChannels int    `json:"unread_channels"`
	ThreadUnread   uint64 `json:"thread_unread"`
	ThreadMentions uint64 `json:"thread_mentions"`
	UnreadThreads  int    `json:"unread_threads"`
	Badge          uint64 `json:"badge"`
	Flagged        int    `json:"flagged"`
	Archived       struct {
		UnreadChannels int    `json:"unread_channels"`
		Mentions       uint64 `json:"mentions"`
	} `json:"archived"`
	Unknown int `json:"unknown"` // channels that Redis cannot count
}

type channel struct {
	ID             string    `json:"channel_id"`
	Known          *bool     `json:"known"` // only Redis may not have the counts
	Unread         uint32    `json:"unread"`
	Mentions       uint32    `json:"mentions"`
	DirectMentions uint32    `json:"direct_mentions"`
	OfflineUnread  uint32    `json:"offline_unread"`
	ReadEpoch      uint32    `json:"read_epoch"`
	Level          string    `json:"level"`
	Until          time.Time `json:"until"`
	LevelAfter     string    `json:"level_after"`
	IgnoreAll      bool      `json:"ignore_mention_all"`
	Flagged        bool      `json:"flagged"`
	Archived       bool      `json:"archived"`
	Filed          struct {
		Keep bool `json:"keep"`
	} `json:"filed"`
	Labels    []string `json:"labels"`
	OwnLabels []string `json:"own_labels"`
}

type thread struct {
	Channel        string `json:"channel_id"`
	ID             string `json:"thread_id"`
	Unread         uint32 `json:"unread"`
	Mentions       uint32 `json:"mentions"`
	DirectMentions uint32 `json:"direct_mentions"`
	ReadEpoch      uint32 `json:"read_epoch"`
}

// lines returns one line for each channel, thread and sum, by its name.
func (t *answer) lines() map[string]string {
	out := map[string]string{"totals": fmt.Sprintf("%+v", t.Totals)}
	for label, s := range t.ByLabel {
		out["label "+label] = fmt.Sprintf("%+v", s)
	}
	for _, c := range t.Channels {
		if c.Until.IsZero() {
			c.LevelAfter = ""
		}
		if c.Level == "" {
			c.Level = "ALL"
		}
		if !c.Until.IsZero() && c.LevelAfter == "" {
			c.LevelAfter = "ALL"
		}
		slices.Sort(c.Labels)
		slices.Sort(c.OwnLabels)
		out["channel "+c.ID] = fmt.Sprintf("%d unread, %d mentions, %d by name, %d offline, epoch %d, level %s until %d then %s, ignores @all %t, flagged %t, archived %t for good %t, labels %q own %q",
			c.Unread, c.Mentions, c.DirectMentions, c.OfflineUnread, c.ReadEpoch, c.Level, c.Until.UnixMilli(), c.LevelAfter, c.IgnoreAll, c.Flagged, c.Archived,
			c.Filed.Keep, c.Labels, c.OwnLabels)
	}
	for _, th := range t.Threads {
		out["thread "+th.Channel+" "+th.ID] = fmt.Sprintf("%d unread, %d mentions, %d by name, epoch %d", th.Unread, th.Mentions, th.DirectMentions, th.ReadEpoch)
	}
	return out
}

// meets counts the kinds of things that the answer has.
func (t *answer) meets(met map[string]int) {
	met["channels"] += len(t.Channels)
	for _, c := range t.Channels {
		for what, is := range map[string]bool{
			"unread": c.Unread > 0, "mentions": c.Mentions > 0, "flagged": c.Flagged, "archived": c.Archived, "kept": c.Filed.Keep, "muted": c.Level == "NONE",
			"until": !c.Until.IsZero(), "labels": len(c.Labels) > 0,
		} {
			if is {
				met[what]++
			}
		}
	}
	met["threads"] += len(t.Threads)
}

// differs describes how t differs from want. Counts that Redis does not have are no difference: the
// answer states that they are unknown, and its sums are then incomplete.
func (t *answer) differs(want *answer) string {
	got, right := t.lines(), want.lines()
	for _, c := range t.Channels {
		if c.Known != nil && !*c.Known {
			delete(got, "channel "+c.ID)
			delete(right, "channel "+c.ID)
		}
	}
	if t.Totals.Unknown > 0 {
		delete(got, "totals")
		delete(right, "totals")
	}
	for label, s := range t.ByLabel {
		if s.Unknown > 0 {
			delete(got, "label "+label)
			delete(right, "label "+label)
		}
	}
	var out []string
	for name, text := range right {
		if got[name] != text {
			out = append(out, fmt.Sprintf("%s\n    %s\n  and GetInbox\n    %s", name, got[name], text))
		}
		delete(got, name)
	}
	for name, text := range got {
		out = append(out, fmt.Sprintf("%s\n    %s\n  and GetInbox nothing", name, text))
	}
	slices.Sort(out)
	return strings.Join(out, "\n  ")
}

// parsed decodes an answer in JSON.
func parsed(text []byte) (*answer, error) {
	t := new(answer)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("%w: %.300s", err, text)
	}
	return t, nil
}

// ofView returns the answer of the reader of Redis.
func ofView(v *cache.View) *answer {
	t := &answer{Totals: sumsOf(&v.Totals), ByLabel: map[string]sums{}}
	for label, s := range v.TotalsByLabel {
		t.ByLabel[label] = sumsOf(&s)
	}
	for _, e := range v.Channels {
		c := channel{
			ID: e.ChannelID, Known: &e.Known, Unread: e.Unread, Mentions: e.Mentions, DirectMentions: e.DirectMentions, OfflineUnread: e.OfflineUnread,
			ReadEpoch: e.ReadEpoch, Level: events.LevelNames[e.Levels.Level], IgnoreAll: e.IgnoreAll, Flagged: e.Flagged, Archived: e.Archived,
			Labels: e.Labels, OwnLabels: e.OwnLabels,
		}
		if c.Filed.Keep = e.Filed.Keep; e.Levels.Until != 0 {
			c.Until, c.LevelAfter = time.UnixMilli(e.Levels.Until), events.LevelNames[e.Levels.After]
		}
		t.Channels = append(t.Channels, c)
	}
	for _, e := range v.Threads {
		t.Threads = append(t.Threads, thread{e.ChannelID, e.ThreadID, e.Unread, e.Mentions, e.DirectMentions, e.ReadEpoch})
	}
	return t
}

func sumsOf(t *cache.Totals) sums {
	s := sums{
		Unread: t.Unread, Mentions: t.Mentions, UnreadChannels: t.UnreadChannels, ThreadUnread: t.ThreadUnread, ThreadMentions: t.ThreadMentions,
		UnreadThreads: t.UnreadThreads, Badge: t.Badge, Flagged: t.Flagged, Unknown: t.Unknown,
	}
	s.Archived.UnreadChannels, s.Archived.Mentions = t.ArchivedChannels, t.ArchivedMentions
	return s
}
