package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// Answer is everything that a user sees as of a time (DESIGN §4.7): from the query service, from
// the reader of Redis, or from a Mirror.
type Answer struct {
	Channels map[string]Channel      // by id, of those that the user is a member of
	Threads  map[ThreadID]Thread     // followed ones
	Totals   model.Totals            // of all channels
	ByLabel  map[string]model.Totals // of those under each label

	touched map[ThreadID]int64 // log time at which the listed threads were touched
	ends    bool               // logs end: times may have become those of blocks, without a delta
}

// ThreadID names a thread.
type ThreadID struct{ Channel, Thread string }

// Counts has the unread numbers of a channel or thread.
type Counts struct {
	Unread, Mentions, DirectMentions uint32
	FirstUnread, FirstMention        projections.Ref
}

// Place has the pointer of a user in a channel or thread, and the messages there that answers name.
type Place struct {
	LastRead   projections.Ref
	LastReadAt int64 // 0 if nothing is read
	Latest     projections.Head
	ReadEpoch  uint32
}

// Channel is what a user sees of a channel.
type Channel struct {
	Counts
	Place
	// Ask says that the source of the answer has no Counts. They are zero then, and Archived may be
	// wrong.
	Ask           bool
	OfflineUnread uint32
	Large         bool
	Levels        events.Levels // as of the time, with an Until after it
	IgnoreAll     bool
	Flagged       bool
	Archived      bool // for the user, or for everybody
	Keep          bool // the user filed it permanently
	Line          projections.Ref
	Labels        []string // the channel's and the user's own, ascending
	OwnLabels     []string // ascending

	open   bool            // an open time target moves the pointer without a delta
	mayAsk bool            // a reader that derives counts may have to ask
	known  projections.Ref // Line with the half that was not stated, if it is known
}

// Thread is what a user sees of a thread that they follow.
type Thread struct {
	Counts
	Place
	Listed bool

	open bool // as in Channel
}

// Sum adds up an answer's own channels and listed threads. asked is the number of channels that it
// cannot add, because their counts must be asked for. With a label it adds only the channels under
// that label.
func (a *Answer) Sum(label string) (t model.Totals, asked int) {
	in := func(c *Channel) bool { return label == "" || slices.Contains(c.Labels, label) }
	for _, c := range a.Channels {
		if !in(&c) {
			continue
		}
		unread := c.Unread > 0 || c.Flagged
		switch {
		case c.Ask:
			asked++
			continue
		case c.Archived:
			if unread {
				t.ArchivedChannels++
			}
			t.ArchivedMentions += c.Mentions
			continue
		case c.Flagged:
			t.Flagged++
		}
		if c.Levels.Level == events.LevelNone {
			continue
		}
		t.Unread += c.Unread
		t.Mentions += c.Mentions
		if unread {
			t.UnreadChannels++
		}
		badge := c.badge(c.Counts)
		if badge == 0 && c.Flagged {
			badge = 1
		}
		t.Badge += badge
	}
	for id, th := range a.Threads {
		c, member := a.Channels[id.Channel]
		if !th.Listed || !member || c.Ask || c.Archived || c.Levels.Level == events.LevelNone || !in(&c) {
			continue
		}
		t.ThreadUnread += th.Unread
		t.ThreadMentions += th.Mentions
		if th.Unread > 0 {
			t.UnreadThreads++
		}
		t.Badge += c.badge(th.Counts)
	}
	return t, asked
}

// badge returns the share of n that the channel's level admits. n has the counts of the channel or
// of its thread.
func (c *Channel) badge(n Counts) uint32 {
	if c.Levels.Level == events.LevelMentions {
		return n.Mentions
	}
	return n.Unread
}

// labels returns the labels of all channels, ascending.
func (a *Answer) labels() (out []string) {
	for _, c := range a.Channels {
		out = append(out, c.Labels...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Compare adds the differences between an answer and the right one. The caller first clears, in
// both, what only one source has, such as the first unread message of a large channel.
func (a *Answer) Compare(right *Answer, f *Findings) {
	for _, id := range keys(a.Channels, right.Channels) {
		got, has := a.Channels[id]
		want, is := right.Channels[id]
		if is != has {
			f.Add("%s: listed %v, a member %v", id, has, is)
			continue
		}
		if diff := got.differs(want, right.ends); diff != "" {
			f.Add("%s: %s", id, diff)
		}
	}
	for _, id := range keys(a.Threads, right.Threads) {
		got, has := a.Threads[id]
		want, is := right.Threads[id]
		if is != has {
			f.Add("thread %s of %s: told %v, followed %v", id.Thread, id.Channel, has, is)
			continue
		}
		if diff := got.differs(want, right.ends); diff != "" {
			f.Add("thread %s of %s: %s", id.Thread, id.Channel, diff)
		}
	}
	a.CompareTotals(right, f)
}

// differs describes how c differs from want, "" if it does not.
func (c Channel) differs(want Channel, ends bool) string {
	if c.Ask && want.mayAsk {
		want.Ask, want.Counts, want.Archived = true, Counts{}, c.Archived
	}
	c.mayAsk = want.mayAsk
	if want.open {
		c.Place, c.open = want.Place, true
		if want.Large {
			c.Counts = want.Counts
		}
	}
	forget(&c.Counts, &want.Counts)
	forgetPlace(&c.Place, &want.Place, ends)
	return differ(c, want)
}

// differs is Channel.differs for a thread.
func (t Thread) differs(want Thread, ends bool) string {
	if want.open {
		t.Place, t.open = want.Place, true
	}
	forget(&t.Counts, &want.Counts)
	forgetPlace(&t.Place, &want.Place, ends)
	return differ(t, want)
}

// CompareTotals checks that the totals of an answer are the sums of its own parts, and that they
// are right. The share of channels with Ask is unknown.
func (a *Answer) CompareTotals(right *Answer, f *Findings) {
	for _, label := range append(a.labels(), "") {
		got, want, what := a.Totals, right.Totals, "totals"
		if label != "" {
			got, want, what = a.ByLabel[label], right.ByLabel[label], "totals of "+label
		}
		sum, asked := a.Sum(label)
		if asked > 0 {
			continue
		}
		if diff := differ(got, sum); diff != "" {
			f.Add("%s are no sum of their parts: %s", what, diff)
		}
		if diff := differ(got, want); diff != "" && !right.moving(label) {
			f.Add("%s: %s", what, diff)
		}
	}
	for _, label := range keys(a.ByLabel, right.ByLabel) {
		if !slices.Contains(a.labels(), label) {
			f.Add("totals of %s, which is no label of any of the channels", label)
		}
	}
}

// moving reports whether an open time target changes the counts under a label without a delta.
func (a *Answer) moving(label string) bool {
	for _, c := range a.Channels {
		if c.open && c.Large && (label == "" || slices.Contains(c.Labels, label)) {
			return true
		}
	}
	return false
}

// forget clears ids in both that have left the index: leaving it makes no delta.
func forget(got, want *Counts) {
	forgetID(&got.FirstUnread, &want.FirstUnread)
	forgetID(&got.FirstMention, &want.FirstMention)
}

func forgetPlace(got, want *Place, ends bool) {
	if ends && want.LastRead.MessageID == "" {
		got.LastReadAt = script.BlockTime(got.LastReadAt, want.LastReadAt)
	}
	if ends && want.Latest.MessageID == "" {
		got.Latest.At = script.BlockTime(got.Latest.At, want.Latest.At)
	}
	forgetID(&got.LastRead, &want.LastRead)
	if want.Latest.MessageID == "" {
		got.Latest.MessageID, got.Latest.SenderID, got.Latest.Preview = "", "", ""
	}
}

func forgetID(got, want *projections.Ref) {
	if want.MessageID == left || want.MessageID == "" && want.Seq > 0 {
		got.MessageID, want.MessageID = "", ""
	}
}

func differ[T any](got, want T) string {
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		return fmt.Sprintf("is\n    %s\n  but should be\n    %s", g, w)
	}
	return ""
}

// left stands for the id of a message that has left the index. Redis may still have the id.
const left = "\x00"

func countsOf(v *projections.View) Counts {
	return Counts{v.Unread, v.Mentions, v.DirectMentions, v.FirstUnread, v.FirstMention}
}

func placeOf(v *projections.View) Place {
	p := Place{LastRead: v.LastRead, LastReadAt: v.LastReadAt, Latest: v.Latest, ReadEpoch: v.ReadEpoch}
	if p.LastRead.Seq == 0 {
		p.LastReadAt = 0
	}
	return p
}

// union returns the labels of both lists, ascending.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// keys returns the keys of both maps, always in the same order.
func keys[K comparable, V any](a, b map[K]V) []K {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.SortedFunc(maps.Keys(all), func(a, b K) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}
