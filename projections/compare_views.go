package projections

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/differ"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// compareViews compares what readers see of a channel: the channel itself, then its users by name.
func compareViews(a, b *Partition, id string) (list []Difference) {
	add := func(user, field string, va, vb any) {
		if va != vb {
			list = append(list, Difference{Channel: id, User: user, Field: field, A: fmt.Sprint(va), B: fmt.Sprint(vb)})
		}
	}
	ca, oka := a.Channel(id)
	cb, okb := b.Channel(id)
	if oka != okb {
		add("", "channel", there(oka), there(okb))
		return list
	}
	add("", "head_seq", ca.HeadSeq, cb.HeadSeq)
	add("", "head_pos", ca.HeadPos, cb.HeadPos)
	add("", "member_count", ca.MemberCount, cb.MemberCount)
	add("", "large", ca.Large, cb.Large)
	add("", "labels", strings.Join(ca.Labels, ", "), strings.Join(cb.Labels, ", "))
	add("", "archived", ca.Archived, cb.Archived)
	add("", "latest", head(ca.Latest), head(cb.Latest))
	if oka && ca.Latest.Preview != cb.Latest.Preview {
		list = append(list, Difference{Channel: id, Field: "latest.preview", A: runes(ca.Latest.Preview), B: runes(cb.Latest.Preview)})
	}
	for _, user := range usersOf(id, a, b) {
		va, _ := a.View(user, id)
		vb, _ := b.View(user, id)
		add(user, "member", va.Member, vb.Member)
		add(user, "unread", va.Unread, vb.Unread)
		add(user, "mentions", va.Mentions, vb.Mentions)
		add(user, "offline_unread", va.OfflineUnread, vb.OfflineUnread)
		add(user, "first_unread", ref(va.FirstUnread), ref(vb.FirstUnread))
		add(user, "last_read", ref(va.LastRead), ref(vb.LastRead))
		add(user, "last_read_at", instant(va.LastReadAt), instant(vb.LastReadAt))
		add(user, "direct_mentions", va.DirectMentions, vb.DirectMentions)
		add(user, "first_mention", ref(va.FirstMention), ref(vb.FirstMention))
		add(user, "muted", va.Muted, vb.Muted)
		add(user, "level", events.LevelNames[va.Level], events.LevelNames[vb.Level])
		add(user, "until", instant(va.Until), instant(vb.Until))
		add(user, "level_after", events.LevelNames[va.LevelAfter], events.LevelNames[vb.LevelAfter])
		add(user, "ignore_mention_all", va.IgnoreAll, vb.IgnoreAll)
		add(user, "flagged", va.Flagged, vb.Flagged)
		add(user, "filed", filed(va.Filed), filed(vb.Filed))
		add(user, "line", line(va.Line), line(vb.Line))
		add(user, "labels", strings.Join(va.Labels, ", "), strings.Join(vb.Labels, ", "))
		add(user, "ask", va.Ask, vb.Ask)
		add(user, "read_epoch", va.ReadEpoch, vb.ReadEpoch)
		add(user, "stamp", va.Stamp.String(), vb.Stamp.String())
	}
	return list
}

// threadViews compares the views of the threads in which a user's records differ.
func threadViews(a, b *Partition, c *differ.Channel) (list []Difference) {
	for _, of := range c.Threads {
		va, _ := a.Thread(of.User, c.ID, of.Thread)
		vb, _ := b.Thread(of.User, c.ID, of.Thread)
		add := func(field string, va, vb any) {
			if va != vb {
				list = append(list, Difference{Channel: c.ID, User: of.User, Field: fmt.Sprintf("thread %q, %s", of.Thread, field), A: fmt.Sprint(va), B: fmt.Sprint(vb)})
			}
		}
		add("following", va.Following, vb.Following)
		add("unread", va.Unread, vb.Unread)
		add("mentions", va.Mentions, vb.Mentions)
		add("direct_mentions", va.DirectMentions, vb.DirectMentions)
		add("first_unread", ref(va.FirstUnread), ref(vb.FirstUnread))
		add("first_mention", ref(va.FirstMention), ref(vb.FirstMention))
		add("last_read", ref(va.LastRead), ref(vb.LastRead))
		add("last_read_at", instant(va.LastReadAt), instant(vb.LastReadAt))
		add("last_reply", head(va.LastReply), head(vb.LastReply))
		add("read_epoch", va.ReadEpoch, vb.ReadEpoch)
	}
	return list
}

// CompareChannel compares the views of a channel in two partitions, which may have folded different
// logs. It ignores stamps, because stamps are positions in a log. The caller holds RLock of both.
func CompareChannel(a, b *Partition, id string) []Difference {
	return slices.DeleteFunc(compareViews(a, b, id), func(d Difference) bool { return d.Field == "stamp" })
}

// usersOf returns the users who have a row in the channel in any of the partitions, in order.
func usersOf(id string, ps ...*Partition) []string {
	var all []string
	for _, p := range ps {
		ci := p.rules.ChannelOf([]byte(id))
		if ci == 0 {
			continue
		}
		for _, r := range p.rules.RowsOf(p.rules.Channels.At(ci)) {
			all = append(all, string(p.rules.UserID(r.User)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Channels calls fn for every channel that exists for readers, with the channel's users: members,
// former members, and everybody who did anything in it. It stops when fn returns false. The order
// of channels is undefined. The caller holds RLock.
func (p *Partition) Channels(fn func(id string, users []string) bool) {
	stopped := false
	p.rules.Channels.Each(func(_ uint32, c *state.Channel) {
		if stopped || c.LastM == 0 || c.Flags&state.ChannelDeleted != 0 {
			return
		}
		id := string(p.rules.Blobs.Get(c.ID))
		stopped = !fn(id, usersOf(id, p))
	})
}

func there(ok bool) string {
	if ok {
		return "there"
	}
	return "none"
}

func ref(r Ref) string {
	switch {
	case r.Seq == 0:
		return "none"
	case r.MessageID == "":
		return fmt.Sprintf("seq %d", r.Seq)
	}
	return fmt.Sprintf("%s (seq %d)", r.MessageID, r.Seq)
}

func filed(f events.Filed) string {
	switch {
	case !f.Is:
		return "none"
	case f.Keep:
		return "for good"
	}
	return fmt.Sprintf("up to pos %d", f.Pos)
}

// line formats a line as its user set it: by id or by seq.
func line(r Ref) string {
	if r.MessageID != "" {
		return r.MessageID
	}
	return ref(r)
}

func head(h Head) string {
	if h.Seq == 0 {
		return "none"
	}
	return fmt.Sprintf("%s at pos %d by %q at %s", ref(Ref{MessageID: h.MessageID, Seq: h.Seq}), h.Pos, h.SenderID, instant(h.At))
}

// runes replaces a preview by its length, because previews are private.
func runes(s string) string {
	return fmt.Sprintf("%d bytes (%x)", len(s), keys.RecordHash(nil, []byte(s))[0])
}

func instant(ms int64) string {
	if ms == 0 {
		return "none"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
