//go:build vectors

// These are vectors that the gateway's tests make by chance: they start this test.
package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"
)

// randomVector is what a gateway wrote to a device, and what a client has to make of it.
type randomVector struct {
	Name     string
	Frames   []json.RawMessage
	Channels map[string]channelVector
	Threads  map[string]threadVector // channel, NUL, thread
	At       []struct {
		Now     int64
		Totals  Totals
		ByLabel map[string]Totals `json:"by_label"`
	}
	Large, Open []string // channels; of the open ones counts may be ahead
}

type channelVector struct {
	Unread           int      `json:"unread"`
	Mentions         int      `json:"mentions"`
	DirectMentions   int      `json:"direct_mentions"`
	OfflineUnread    int      `json:"offline_unread"`
	FirstUnread      int      `json:"first_unread"`
	FirstMention     int      `json:"first_mention"`
	Latest           int      `json:"latest"`
	ReadEpoch        int      `json:"read_epoch"`
	Level            Level    `json:"level"`
	Until            *int64   `json:"until"`
	LevelAfter       *Level   `json:"level_after"`
	IgnoreMentionAll bool     `json:"ignore_mention_all"`
	Flagged          bool     `json:"flagged"`
	Archived         bool     `json:"archived"`
	Keep             bool     `json:"keep"`
	Labels           []string `json:"labels"`
	OwnLabels        []string `json:"own_labels"`
}

type threadVector struct {
	Unread         int `json:"unread"`
	Mentions       int `json:"mentions"`
	DirectMentions int `json:"direct_mentions"`
	FirstUnread    int `json:"first_unread"`
	ReadEpoch      int `json:"read_epoch"`
}

func seqOf(r *MessageRef) int {
	if r == nil {
		return 0
	}
	return r.Seq
}

func channelOf(c *ChannelUnread) channelVector {
	v := channelVector{
		Unread: c.Unread, Mentions: c.Mentions, DirectMentions: c.DirectMentions, OfflineUnread: c.OfflineUnread,
		FirstUnread: seqOf(c.FirstUnread), FirstMention: seqOf(c.FirstMention), ReadEpoch: c.ReadEpoch,
		Level: c.Level, IgnoreMentionAll: c.IgnoreMentionAll, Flagged: c.Flagged, Archived: c.Archived,
		Keep: c.Filed != nil && c.Filed.Keep, Labels: append([]string{}, c.Labels...), OwnLabels: append([]string{}, c.OwnLabels...),
	}
	if c.Latest != nil {
		v.Latest = c.Latest.Seq
	}
	if c.Level == "" {
		v.Level = All
	}
	if !c.Until.IsZero() {
		until, after := c.Until.UnixMilli(), c.LevelAfter
		v.Until, v.LevelAfter = &until, &after
	}
	return v
}

// TestRandomVectors takes the vectors on standard input.
func TestRandomVectors(t *testing.T) {
	var list []randomVector
	if err := json.NewDecoder(os.Stdin).Decode(&list); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if wrong := list[i].wrong(); wrong != "" {
			v, _ := json.MarshalIndent(list[i], "", " ")
			t.Fatalf("%s: %s\n%s", list[i].Name, wrong, v)
		}
	}
	fmt.Printf("%d vectors\n", len(list))
}

// wrong says what a device makes of the frames that it must not.
func (v *randomVector) wrong() string {
	d := &Device{changed: make(chan struct{}), outbox: newOutbox(time.Second, 1), heads: map[string]int{}}
	for _, text := range v.Frames {
		if err := d.take(text); err != nil {
			return err.Error()
		}
	}
	i := d.Inbox()
	channels, threads := map[string]channelVector{}, map[string]threadVector{}
	for id, c := range i.Channels {
		got, want := channelOf(c), v.Channels[id]
		if slices.Contains(v.Large, id) { // it may not be known which messages are the first
			got.FirstUnread, got.FirstMention = known(got.FirstUnread, want.FirstUnread), known(got.FirstMention, want.FirstMention)
		}
		if slices.Contains(v.Open, id) {
			got = want
		}
		channels[id] = got
	}
	for key, r := range i.Threads {
		threads[key.ChannelID+"\x00"+key.ThreadID] = threadVector{r.Unread, r.Mentions, r.DirectMentions, seqOf(r.FirstUnread), r.ReadEpoch}
	}
	if text := differ(channels, v.Channels); text != "" {
		return text
	}
	if text := differ(threads, v.Threads); text != "" {
		return text
	}
	var all []ChannelUnread
	var replies []ThreadUnread
	for _, c := range i.Channels {
		all = append(all, *c)
	}
	for _, r := range i.Threads {
		replies = append(replies, *r)
	}
	for n, at := range v.At {
		now := time.UnixMilli(at.Now)
		sum, labels := TotalsOf(all, replies, now), i.ByLabel(now)
		if n == 0 && sum != i.Totals { // the gateway's clock stands still
			return fmt.Sprintf("the totals are %+v, and their parts %+v", i.Totals, sum)
		}
		if len(v.Open) > 0 {
			continue
		}
		if sum != at.Totals || !maps.Equal(labels, at.ByLabel) {
			return fmt.Sprintf("at %d\n%+v, %+v; want\n%+v, %+v", at.Now, sum, labels, at.Totals, at.ByLabel)
		}
	}
	return ""
}

// known is what is wanted, if nothing is known.
func known(got, want int) int {
	if got == 0 {
		return want
	}
	return got
}

func differ[V any](got, want map[string]V) string {
	for id := range want {
		if _, is := got[id]; !is {
			return fmt.Sprintf("%q is not there", id)
		}
	}
	for id, v := range got {
		if w, is := want[id]; !is || !reflect.DeepEqual(v, w) {
			return fmt.Sprintf("of %q\n%+v, want\n%+v, %t", id, v, w, is)
		}
	}
	return ""
}
