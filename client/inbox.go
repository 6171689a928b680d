package client

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// ThreadKey names a thread.
type ThreadKey struct{ ChannelID, ThreadID string }

// Inbox is what one user sees, as far as the device knows. It is immutable: every frame makes a new
// one. Do not write into its maps.
//
// A snapshot replaces everything. An update replaces one channel or thread, unless it is older:
// unless the stamp in the inbox dominates the update's and differs from it.
type Inbox struct {
	// Known is false until the first snapshot. Until then a count of 0 means unknown.
	Known    bool
	Channels map[string]*ChannelUnread
	Threads  map[ThreadKey]*ThreadUnread
	Totals   Totals
	// Truncated: the user has more channels than fit into the snapshot. Totals include them.
	Truncated bool
}

// Badge returns the number for a launcher icon, and whether it is known.
func (i Inbox) Badge() (n int, known bool) { return i.Totals.Badge, i.Known }

// Sorted returns the channels in the order of a list, without archived ones: unread or flagged
// channels first, then by time, newest first.
func (i Inbox) Sorted() []*ChannelUnread { return i.list(false) }

// Archived returns the archived channels, in the same order.
func (i Inbox) Archived() []*ChannelUnread { return i.list(true) }

func (i Inbox) list(archived bool) []*ChannelUnread {
	var list []*ChannelUnread
	for _, c := range i.Channels {
		if c.Archived == archived {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *ChannelUnread) int {
		return cmp.Or(
			-cmp.Compare(number(a.Unread > 0 || a.Flagged), number(b.Unread > 0 || b.Flagged)),
			-cmp.Compare(a.newest(), b.newest()), cmp.Compare(a.ChannelID, b.ChannelID),
		)
	})
	return list
}

func (c *ChannelUnread) newest() int64 {
	if c.Latest == nil || c.Latest.At.IsZero() {
		return 0
	}
	return c.Latest.At.UnixMilli()
}

// ByLabel returns the totals of the channels of each label at a time.
func (i Inbox) ByLabel(now time.Time) map[string]Totals {
	channels, threads := map[string][]ChannelUnread{}, make([]ThreadUnread, 0, len(i.Threads))
	for _, c := range i.Channels {
		for _, label := range c.Labels {
			channels[label] = append(channels[label], *c)
		}
	}
	for _, t := range i.Threads {
		threads = append(threads, *t)
	}
	out := make(map[string]Totals, len(channels))
	for label, list := range channels {
		out[label] = TotalsOf(list, threads, now)
	}
	return out
}

// totalsFrame are totals as a gateway sends them. Older gateways send no badge.
type totalsFrame struct {
	Totals
	Badge *int `json:"badge"`
}

func (t *totalsFrame) totals() Totals {
	out := t.Totals
	if t.Badge != nil {
		out.Badge = *t.Badge
	} else {
		out.Badge = out.Unread + out.ThreadUnread
	}
	return out
}

// inboxOf returns the inbox of a snapshot.
func inboxOf(frame []byte) (Inbox, error) {
	var f struct {
		Channels  []ChannelUnread `json:"channels"`
		Threads   []ThreadUnread  `json:"threads"`
		Totals    totalsFrame     `json:"totals"`
		Truncated bool            `json:"truncated"`
	}
	if err := json.Unmarshal(frame, &f); err != nil {
		return Inbox{}, err
	}
	i := Inbox{Known: true, Channels: map[string]*ChannelUnread{}, Threads: map[ThreadKey]*ThreadUnread{}, Totals: f.Totals.totals(), Truncated: f.Truncated}
	for n := range f.Channels {
		i.Channels[f.Channels[n].ChannelID] = &f.Channels[n]
	}
	for n := range f.Threads {
		t := &f.Threads[n]
		t.Following = true
		i.Threads[ThreadKey{t.ChannelID, t.ThreadID}] = t
	}
	return i, nil
}

// with returns the inbox with one channel or thread replaced, or i itself if the update is older or
// there was no snapshot yet.
func (i Inbox) with(frame []byte) (Inbox, error) {
	var head struct {
		ThreadID string       `json:"thread_id"`
		Member   *bool        `json:"member"`
		Followed *bool        `json:"followed"`
		Totals   *totalsFrame `json:"totals"`
	}
	if err := json.Unmarshal(frame, &head); err != nil || !i.Known {
		return i, err
	}
	if head.ThreadID != "" {
		t := ThreadUnread{}
		if err := json.Unmarshal(frame, &t); err != nil {
			return i, err
		}
		key := ThreadKey{t.ChannelID, t.ThreadID}
		if was := i.Threads[key]; was != nil && older(was.Stamp, t.Stamp) {
			return i, nil
		}
		t.Following = head.Followed == nil || *head.Followed
		i.Threads = maps.Clone(i.Threads)
		if i.Threads[key] = &t; !t.Following {
			delete(i.Threads, key)
		}
	} else {
		var c ChannelUnread
		if err := json.Unmarshal(frame, &c); err != nil {
			return i, err
		}
		if was := i.Channels[c.ChannelID]; was != nil && older(was.Stamp, c.Stamp) {
			return i, nil
		}
		c.Member = head.Member == nil || *head.Member
		i.Channels = maps.Clone(i.Channels)
		if i.Channels[c.ChannelID] = &c; !c.Member {
			delete(i.Channels, c.ChannelID)
		}
	}
	if head.Totals != nil {
		i.Totals = head.Totals.totals()
	}
	return i, nil
}
