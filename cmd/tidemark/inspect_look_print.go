package main

import (
	"fmt"
	"strings"
)

// print prints what a store says, for people.
func (info *lookInfo) print(a *app) error {
	f := newFields(a.stdout)
	f.add("store", info.Store)
	f.add("partition", fmt.Sprintf("%d of %d", info.Partition, info.Partitions))
	var at []string
	for in, topic := range info.topics {
		if next := info.Position[in]; next > 0 {
			at = append(at, fmt.Sprintf("%s/%d/%d", topic, info.Partition, next-1))
		}
	}
	f.add("as of", strings.Join(at, " "))
	if c := info.Channel; c != nil {
		size := "small"
		if c.Large {
			size = "large"
		}
		f.add("channel", c.ChannelID)
		f.add("members", fmt.Sprintf("%d (%s)", c.MemberCount, size))
		f.add("messages", fmt.Sprintf("%d, of which %d counted when they were posted", c.HeadSeq, c.HeadPos))
		f.add("latest", c.Latest.long())
	}
	if info.explained == nil {
		if err := f.print(); err != nil {
			return err
		}
		return info.tables(a)
	}
	info.fields(f)
	if err := f.print(); err != nil {
		return err
	}
	return info.threads(a)
}

// fields are those of the one pair that was asked for.
func (info *lookInfo) fields(f *fields) {
	p := &info.Pairs[0]
	f.add("user", p.UserID)
	f.add("member", yes(p.Member))
	f.add("unread", p.Unread)
	f.add("mentions", p.Mentions)
	f.add("offline unread", p.OfflineUnread)
	f.add("first unread", p.FirstUnread.long())
	f.add("last read", p.LastRead.long())
	f.add("muted", yes(p.Muted))
	f.add("read epoch", p.ReadEpoch)
	f.add("stamp", p.Stamp)
	x := p.Explanation
	f.add("messages behind it", messageList(x.MessageIDs, int(info.explained.Unread)))
	var not []string
	for _, kind := range []string{"own", "deleted", "silent", "thread", "read_singly", "before_join"} {
		if n := x.Excluded[kind]; n > 0 {
			not = append(not, fmt.Sprintf("%d %s", n, strings.ReplaceAll(kind, "_", " ")))
		}
	}
	if len(not) == 0 {
		not = []string{"none"}
	}
	f.add("not counted", strings.Join(not, ", "))
	if x.Event != "" {
		f.add("pointer by", x.Event)
	}
}

// tables list pairs, by user of one channel or by channel of one user, and threads.
func (info *lookInfo) tables(a *app) error {
	first := "CHANNEL"
	if info.Channel != nil {
		first = "USER"
	}
	t := newTable(first, "MEMBER", "UNREAD>", "MENTIONS>", "OFFLINE>", "FIRST UNREAD", "LAST READ", "AT", "EPOCH>", "MUTED")
	for i := range info.Pairs {
		p := &info.Pairs[i]
		name := p.ChannelID
		if info.Channel != nil {
			name = p.UserID
		}
		t.row(name, yes(p.Member), p.Unread, p.Mentions, p.OfflineUnread, p.FirstUnread.short(), p.LastRead.short(), p.LastRead.at(), p.ReadEpoch, yes(p.Muted))
	}
	if len(t.rows) > 0 {
		fmt.Fprintln(a.stdout)
		if err := t.print(a.stdout); err != nil {
			return err
		}
	}
	return info.threads(a)
}

func (info *lookInfo) threads(a *app) error {
	t := newTable("CHANNEL", "THREAD", "UNREAD>", "MENTIONS>", "FIRST UNREAD", "LAST READ", "AT", "LAST REPLY", "EPOCH>")
	for i := range info.Threads {
		th := &info.Threads[i]
		t.row(th.ChannelID, th.ThreadID, th.Unread, th.Mentions, th.FirstUnread.short(), th.LastRead.short(), th.LastRead.at(), th.LastReply.short(), th.ReadEpoch)
	}
	if len(t.rows) > 0 {
		fmt.Fprintln(a.stdout)
		if err := t.print(a.stdout); err != nil {
			return err
		}
	}
	if info.More > 0 {
		fmt.Fprintf(a.stdout, "and %d more: --limit\n", info.More)
	}
	return nil
}

// messageList are the messages of a number, the nameless ones (older than the index) by their count.
func messageList(ids []string, unread int) string {
	var named []string
	old := 0
	for _, id := range ids {
		if id == "" {
			old++
			continue
		}
		named = append(named, id)
	}
	if old > 0 {
		named = append([]string{fmt.Sprintf("%d older than the index", old)}, named...)
	}
	if more := unread - len(ids); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	if len(named) == 0 {
		return "-"
	}
	return strings.Join(named, " ")
}

func (r *refLook) short() string {
	if r == nil {
		return ""
	}
	return shortRef(r.MessageID, r.Seq)
}

func (r *refLook) at() string {
	if r == nil || r.At == nil {
		return ""
	}
	return clock(*r.At)
}

func (r *refLook) long() string {
	if r == nil {
		return "-"
	}
	s := reference(r.MessageID, r.Seq)
	if r.SenderID != "" {
		s += " by " + r.SenderID
	}
	if r.At != nil {
		s += ", " + clock(*r.At)
	}
	return s
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
