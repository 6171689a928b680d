package cached

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/client"
)

// value is a value of inbox and inbox-threads.
type value struct {
	Unread           int                `json:"unread"`
	Mentions         int                `json:"mentions"`
	DirectMentions   int                `json:"direct_mentions"`
	OfflineUnread    int                `json:"offline_unread"`
	FirstUnreadID    string             `json:"first_unread_id"`
	FirstMention     *client.MessageRef `json:"first_mention"`
	LastReadSeq      int                `json:"last_read_seq"`
	ReadPos          int                `json:"read_pos"`
	Excluded         string             `json:"excluded"`
	Mentioned        string             `json:"mentioned"`
	LatestSeq        int                `json:"latest_seq"`
	LatestAt         string             `json:"latest_at"`
	TouchedAt        string             `json:"touched_at"`
	Large            bool               `json:"large"`
	Ask              bool               `json:"ask"`
	Muted            bool               `json:"muted"`
	Level            client.Level       `json:"level"`
	Until            string             `json:"until"`
	LevelAfter       client.Level       `json:"level_after"`
	IgnoreMentionAll bool               `json:"ignore_mention_all"`
	ReadEpoch        int                `json:"read_epoch"`
	Flagged          bool               `json:"flagged"`
	Filed            *filed             `json:"filed"`
	Line             *client.MessageRef `json:"line"`
	Labels           []string           `json:"labels"`
	Stamp            string             `json:"stamp"`
}

type filed struct {
	Keep bool `json:"keep"`
	Pos  int  `json:"pos"`
}

// entry is a value with the fields derived from it.
type entry struct {
	value
	channel, thread string
	counts
	known    bool
	latest   time.Time
	level    client.Level
	until    time.Time
	labels   []string
	archived bool
}

func entryOf(channel, thread, text string, now time.Time) (*entry, error) {
	if !strings.HasPrefix(text, "{") {
		return nil, errPacked
	}
	e := &entry{channel: channel, thread: thread}
	if err := json.Unmarshal([]byte(text), &e.value); err != nil {
		return nil, fmt.Errorf("client: redis holds a value of channel %q that is none of Tidemark's: %w", channel, err)
	}
	e.known, e.counts = !e.Large, counts{e.Unread, e.Mentions, e.DirectMentions}
	e.latest, e.until, e.level, e.labels = timeOf(e.LatestAt), timeOf(e.Until), e.Level, e.Labels
	if e.level == "" && e.Muted {
		e.level = client.None
	} else if e.level == "" {
		e.level = client.All
	}
	if !e.until.IsZero() && !now.Before(e.until) {
		if e.until, e.level = (time.Time{}), e.LevelAfter; e.level == "" {
			e.level = client.All
		}
	}
	return e, nil
}

func timeOf(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text) // empty: none
	return at
}

func (e *entry) forget() { e.known, e.counts = false, counts{} }

// settle fills in the fields that come from the channel's record, "" if there is none.
func (e *entry) settle(channel map[string]string) {
	keep := e.Filed != nil && e.Filed.Keep
	filing := e.Filed != nil && !keep
	if len(channel) == 0 {
		if e.archived = keep; filing {
			e.forget()
		}
		return
	}
	holds := e.Filed != nil && (keep || position(channel["message_pos"]) <= e.Filed.Pos) && (!filing || !e.Ask)
	e.archived = channel["archived"] == "true" || holds
	var labels []string
	if json.Unmarshal([]byte(channel["labels"]), &labels) == nil {
		labels = append(labels, e.Labels...)
		slices.Sort(labels)
		e.labels = slices.Compact(labels)
	}
	if !e.Large {
		return
	}
	e.latest = timeOf(channel["latest_at"])
	if c, ok := derive(&e.value, channel); ok {
		e.known, e.counts = true, c
	} else {
		e.forget()
	}
}

func (e *entry) newest() *client.Latest {
	switch {
	case e.latest.IsZero():
		return nil
	case e.Large:
		return &client.Latest{At: e.latest}
	}
	return &client.Latest{At: e.latest, Seq: e.LatestSeq}
}

func (e *entry) firstUnread() *client.MessageRef {
	if e.FirstUnreadID == "" {
		return nil
	}
	return &client.MessageRef{MessageID: e.FirstUnreadID}
}

func (e *entry) levelAfter() client.Level {
	switch {
	case e.until.IsZero():
		return ""
	case e.LevelAfter == "":
		return client.All
	}
	return e.LevelAfter
}

func (e *entry) asChannel() Channel {
	if !e.known {
		e.counts = counts{}
	}
	c := Channel{Known: e.known, Large: e.Large, ChannelUnread: client.ChannelUnread{
		ChannelID: e.channel, Member: true, Unread: e.unread, Mentions: e.mentions, DirectMentions: e.direct, OfflineUnread: e.OfflineUnread,
		FirstUnread: e.firstUnread(), FirstMention: e.FirstMention, LastRead: &client.LastRead{Seq: e.LastReadSeq}, Latest: e.newest(),
		Level: e.level, Muted: e.level == client.None, Until: e.until, LevelAfter: e.levelAfter(), IgnoreMentionAll: e.IgnoreMentionAll,
		Archived: e.archived, Flagged: e.Flagged, Line: e.Line, Labels: e.labels, OwnLabels: e.Labels, ReadEpoch: e.ReadEpoch, Stamp: e.Stamp,
	}}
	if e.Filed != nil {
		c.Filed = &client.Filed{Keep: e.Filed.Keep}
	}
	return c
}

func (e *entry) asThread(of *entry) Thread {
	return Thread{TouchedAt: timeOf(e.TouchedAt), ThreadUnread: client.ThreadUnread{
		ChannelID: e.channel, ThreadID: e.thread, Following: true, Unread: e.unread, Mentions: e.mentions, DirectMentions: e.direct,
		FirstUnread: e.firstUnread(), FirstMention: e.FirstMention, LastRead: &client.LastRead{Seq: e.LastReadSeq}, LastReply: e.newest(),
		Level: of.level, Muted: of.level == client.None, Until: of.until, LevelAfter: of.levelAfter(), Archived: of.archived,
		ReadEpoch: e.ReadEpoch, Stamp: e.Stamp,
	}}
}
