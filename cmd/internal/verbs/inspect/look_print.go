package inspect

import (
	"fmt"
	"strings"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/term"
)

// print prints the answer of a store for people.
func (info *LookInfo) print(a *verbs.App) error {
	f := term.NewFields(a.Stdout)
	f.Add("store", info.Store)
	f.Add("partition", fmt.Sprintf("%d of %d", info.Partition, info.Partitions))
	var at []string
	for in, topic := range info.topics {
		if next := info.Position[in]; next > 0 {
			at = append(at, events.RecordID{Topic: topic, Partition: info.Partition, Offset: next - 1}.String())
		}
	}
	f.Add("as of", strings.Join(at, " "))
	if c := info.Channel; c != nil {
		size := "small"
		if c.Large {
			size = "large"
		}
		f.Add("channel", c.ChannelID)
		f.Add("members", fmt.Sprintf("%d (%s)", c.MemberCount, size))
		f.Add("messages", fmt.Sprintf("%d, of which %d counted when they were posted", c.HeadSeq, c.HeadPos))
		f.Add("latest", c.Latest.long())
	}
	if info.explained == nil {
		if err := f.Print(); err != nil {
			return err
		}
		return info.tables(a)
	}
	info.fields(f)
	if err := f.Print(); err != nil {
		return err
	}
	return info.threads(a)
}

// fields adds the fields of the one requested pair.
func (info *LookInfo) fields(f *term.Fields) {
	p := &info.Pairs[0]
	f.Add("user", p.UserID)
	f.Add("member", term.Yes(p.Member))
	f.Add("unread", p.Unread)
	f.Add("mentions", p.Mentions)
	f.Add("offline unread", p.OfflineUnread)
	f.Add("first unread", p.FirstUnread.long())
	f.Add("last read", p.LastRead.long())
	f.Add("muted", term.Yes(p.Muted))
	f.Add("read epoch", p.ReadEpoch)
	f.Add("stamp", p.Stamp)
	x := p.Explanation
	f.Add("messages behind it", term.MessageList(x.MessageIDs, x.Unnamed, info.explained.Unread))
	var not []string
	for _, kind := range []string{"own", "deleted", "silent", "thread", "read_singly", "before_join"} {
		if n := x.Excluded[kind]; n > 0 {
			not = append(not, fmt.Sprintf("%d %s", n, strings.ReplaceAll(kind, "_", " ")))
		}
	}
	if len(not) == 0 {
		not = []string{"none"}
	}
	f.Add("not counted", strings.Join(not, ", "))
	if x.Event != "" {
		f.Add("pointer by", x.Event)
	}
}

// tables list pairs, by user of one channel or by channel of one user, and threads.
func (info *LookInfo) tables(a *verbs.App) error {
	first := "CHANNEL"
	if info.Channel != nil {
		first = "USER"
	}
	t := term.NewTable(first, "MEMBER", "UNREAD>", "MENTIONS>", "OFFLINE>", "FIRST UNREAD", "LAST READ", "AT", "EPOCH>", "MUTED")
	for i := range info.Pairs {
		p := &info.Pairs[i]
		name := p.ChannelID
		if info.Channel != nil {
			name = p.UserID
		}
		t.Row(name, term.Yes(p.Member), p.Unread, p.Mentions, p.OfflineUnread, p.FirstUnread.short(), p.LastRead.short(), p.LastRead.at(), p.ReadEpoch, term.Yes(p.Muted))
	}
	if len(t.Rows) > 0 {
		fmt.Fprintln(a.Stdout)
		if err := t.Print(a.Stdout); err != nil {
			return err
		}
	}
	return info.threads(a)
}

func (info *LookInfo) threads(a *verbs.App) error {
	t := term.NewTable("CHANNEL", "THREAD", "UNREAD>", "MENTIONS>", "FIRST UNREAD", "LAST READ", "AT", "LAST REPLY", "EPOCH>")
	for i := range info.Threads {
		th := &info.Threads[i]
		t.Row(th.ChannelID, th.ThreadID, th.Unread, th.Mentions, th.FirstUnread.short(), th.LastRead.short(), th.LastRead.at(), th.LastReply.short(), th.ReadEpoch)
	}
	if len(t.Rows) > 0 {
		fmt.Fprintln(a.Stdout)
		if err := t.Print(a.Stdout); err != nil {
			return err
		}
	}
	if info.More > 0 {
		fmt.Fprintf(a.Stdout, "and %d more: --limit\n", info.More)
	}
	return nil
}

func (r *refLook) short() string {
	if r == nil {
		return ""
	}
	return term.ShortRef(r.MessageID, r.Seq)
}

func (r *refLook) at() string {
	if r == nil || r.At == nil {
		return ""
	}
	return term.Clock(*r.At)
}

func (r *refLook) long() string {
	if r == nil {
		return "-"
	}
	s := term.Reference(r.MessageID, r.Seq)
	if r.SenderID != "" {
		s += " by " + r.SenderID
	}
	if r.At != nil {
		s += ", " + term.Clock(*r.At)
	}
	return s
}
