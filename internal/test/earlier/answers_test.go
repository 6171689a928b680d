package earlier

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// answers has the answers of one store. It copies them field by field, so that a view with new
// fields still has the same answers.
type answers struct {
	Digest   string             `json:"digest"`
	Channels []channelAnswer    `json:"channels"`
	Pairs    []pairAnswer       `json:"pairs"`
	Threads  []threadAnswer     `json:"threads"`
	Inboxes  map[string][]inbox `json:"inboxes"`
	Receipts []receiptsAnswer   `json:"receipts"`
	Readers  []readersAnswer    `json:"readers"`
	Said     []settingsAnswer   `json:"said,omitempty"` // of the story "said"
	Viewed   []viewedAnswer     `json:"viewed,omitempty"`
}

type ref struct {
	ID  string `json:"id"`
	Seq uint32 `json:"seq"`
	At  int64  `json:"at,omitempty"`
}

type channelAnswer struct {
	Channel string `json:"channel"`
	Latest  ref    `json:"latest"`
	HeadSeq uint32 `json:"head_seq"`
	HeadPos uint32 `json:"head_pos"`
	Members uint32 `json:"members"`
	Large   bool   `json:"large"`
	Deleted bool   `json:"deleted"`
}

type pairAnswer struct {
	User, Channel             string
	Member, Large, Muted      bool
	Unread, Mentions, Offline uint32
	First, Read               ref
	Epoch                     uint32
	IDs                       []string
	Excluded                  [6]uint32
}

type threadAnswer struct {
	User, Channel, Thread string
	Unread, Mentions      uint32
	First, Read, Reply    ref
	Epoch                 uint32
	IDs                   []string
}

type inbox struct {
	Channel          string
	Unread, Mentions uint32
}

type receiptsAnswer struct {
	Channel, Message            string
	Recipients, Delivered, Read uint32
	List                        []receipt
}

type receipt struct {
	User            string
	Delivered, Read int64
}

type readersAnswer struct {
	Channel string
	Users   map[string]ref
}

// answersOf queries a store that folded a story for everything about everybody in it.
func answersOf(t *testing.T, p *projections.Partition, story string) answers {
	t.Helper()
	messages := posted(t, story)
	digest := p.Digest()
	a := answers{Digest: hex.EncodeToString(digest[:]), Inboxes: map[string][]inbox{}}
	users := map[string]bool{}
	of := map[string][]string{}
	var ids []string
	p.Channels(func(id string, us []string) bool {
		us = slices.Clone(us)
		slices.Sort(us)
		ids, of[id] = append(ids, id), us
		return true
	})
	slices.Sort(ids)
	for _, id := range ids {
		c, _ := p.Channel(id)
		a.Channels = append(a.Channels, channelAnswer{id, ref{c.Latest.MessageID, c.Latest.Seq, c.Latest.At}, c.HeadSeq, c.HeadPos, c.MemberCount, c.Large, c.Deleted})
		for _, u := range of[id] {
			users[u] = true
			a.pair(p, u, id)
			if story == settingsStory {
				a.settings(p, u, id)
			}
		}
		for _, m := range messages[id] {
			a.receipts(p, id, m)
			if story == settingsStory {
				a.viewed(p, id, m)
			}
		}
		if v, ok := p.Readers(id, 0, 1000); ok {
			readers := readersAnswer{id, map[string]ref{}}
			for _, r := range v.List {
				readers.Users[r.UserID] = at(r.Message, r.At)
			}
			a.Readers = append(a.Readers, readers)
		}
	}
	for u := range users {
		a.user(t, p, u)
	}
	slices.SortFunc(a.Threads, func(x, y threadAnswer) int {
		return strings.Compare(x.User+"\x00"+x.Channel+"\x00"+x.Thread, y.User+"\x00"+y.Channel+"\x00"+y.Thread)
	})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return a
}

// at returns a pointer and, unless it is zero, its time.
func at(r projections.Ref, ms int64) ref {
	if r.Seq == 0 {
		return ref{}
	}
	return ref{r.MessageID, r.Seq, ms}
}

func (a *answers) pair(p *projections.Partition, user, channel string) {
	v, _ := p.View(user, channel)
	x, _ := p.Explain(user, channel)
	e := x.Excluded
	a.Pairs = append(a.Pairs, pairAnswer{
		User: user, Channel: channel, Member: v.Member, Large: v.Large, Muted: v.Muted, Unread: v.Unread, Mentions: v.Mentions, Offline: v.OfflineUnread,
		First: at(v.FirstUnread, 0), Read: at(v.LastRead, v.LastReadAt), Epoch: v.ReadEpoch, IDs: x.MessageIDs,
		Excluded: [6]uint32{e.BeforeJoin, e.Deleted, e.Silent, e.Thread, e.Own, e.ReadSingly},
	})
}

func (a *answers) receipts(p *projections.Partition, channel, message string) {
	v, ok := p.Receipts(channel, message, 0, 1000)
	if !ok {
		return
	}
	out := receiptsAnswer{Channel: channel, Message: message, Recipients: v.Recipients, Delivered: v.Delivered, Read: v.Read}
	for _, r := range v.List {
		out.List = append(out.List, receipt{r.UserID, r.DeliveredAt, r.ReadAt})
	}
	a.Receipts = append(a.Receipts, out)
}

func (a *answers) user(t *testing.T, p *projections.Partition, user string) {
	t.Helper()
	err := p.Inbox(user, func(e *projections.InboxEntry) bool {
		a.Inboxes[user] = append(a.Inboxes[user], inbox{string(e.ChannelID), e.Unread, e.Mentions})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(a.Inboxes[user], func(x, y inbox) int { return strings.Compare(x.Channel, y.Channel) })
	err = p.Threads(user, func(v *projections.ThreadView) bool {
		x, _ := p.ExplainThread(user, v.ChannelID, v.ThreadID)
		a.Threads = append(a.Threads, threadAnswer{
			User: user, Channel: v.ChannelID, Thread: v.ThreadID, Unread: v.Unread, Mentions: v.Mentions, First: at(v.FirstUnread, 0),
			Read: at(v.LastRead, v.LastReadAt), Reply: ref{v.LastReply.MessageID, v.LastReply.Seq, v.LastReply.At}, Epoch: v.ReadEpoch, IDs: x.MessageIDs,
		})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}

// story returns the events that every build folded.
func story(t *testing.T, name string) []script.Record {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var p script.Parser
	records, err := p.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// posted returns the ids posted in each channel.
func posted(t *testing.T, name string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, r := range story(t, name) {
		if m := r.Message; m != nil && m.Kind == events.KindMessagePosted {
			out[string(m.ChannelID)] = append(out[string(m.ChannelID)], string(m.MessageID))
		}
	}
	return out
}
