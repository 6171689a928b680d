package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/projections"
)

// lookFlags select a channel, a user, or a user in a channel of a store that no node uses. The
// output has the requested ids, and never the text of messages.
type lookFlags struct {
	Channel string `placeholder:"ID" help:"Show this channel, and what each of its users sees of it."`
	User    string `placeholder:"ID" help:"Show what this user sees of each channel, or of --channel with the counted messages."`
	Limit   int    `default:"100" placeholder:"N" help:"How many users, channels and threads are listed (${default})."`
}

func (f *lookFlags) asked() bool { return f.Channel != "" || f.User != "" }

func (f *lookFlags) check() error {
	if f.Limit < 1 {
		return fmt.Errorf("--limit %d: it must be at least 1", f.Limit)
	}
	return nil
}

// mayKnow reports whether the store of a partition can hold the requested channel: each channel is
// in one partition.
func (f *lookFlags) mayKnow(partition, partitions int32) bool {
	return f.Channel == "" || events.PartitionOf([]byte(f.Channel), partitions) == partition
}

// found prints the answers of several stores, one after the other.
type found struct {
	a      *verbs.App
	f      *lookFlags
	json   bool
	asked  int
	stores int // the number of stores with an answer
}

func newFound(a *verbs.App, f *lookFlags, json bool) *found { return &found{a: a, f: f, json: json} }

// in reads the store in dir and prints its answer under name.
func (s *found) in(dir, name string) (err error) {
	p, err := projections.OpenReadOnly(dir, nil)
	if verbs.IsInUse(err) {
		return verbs.InUse(dir, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	s.asked++
	info, known, err := s.f.look(name, p)
	if err != nil || !known {
		return err
	}
	if s.stores++; s.json {
		return term.PrintJSON(s.a.Stdout, info)
	}
	if s.stores > 1 {
		fmt.Fprintln(s.a.Stdout)
	}
	return info.print(s.a)
}

// end returns the error if no store had an answer. others name the partitions that can have the
// channel.
func (s *found) end(others []string) error {
	switch {
	case s.stores > 0:
		return nil
	case s.asked == 0 && len(others) > 0:
		return errors.New(strings.Join(others, "; "))
	case s.f.Channel != "":
		return fmt.Errorf("channel %q is not in this store: up to its position nobody posted to it or joined it, or it was deleted", s.f.Channel)
	}
	return fmt.Errorf("user %q is not in this store: no channel names that user up to its position", s.f.User)
}

// LookInfo is the answer of one store, as JSON. Fields are named as in the query API.
type LookInfo struct {
	Store      string                   `json:"store"` // directory or snapshot
	Partition  int32                    `json:"partition"`
	Partitions int32                    `json:"partitions"`
	Position   [events.NumInputs]int64  `json:"position"`
	LogTime    *time.Time               `json:"log_time,omitempty"`
	Channel    *channelLook             `json:"channel,omitempty"`
	Pairs      []pairLook               `json:"pairs"`
	Threads    []threadLook             `json:"threads"`
	More       int                      `json:"more,omitempty"` // pairs and threads beyond --limit
	topics     [events.NumInputs]string // for the names of records
	explained  *projections.Explanation // of the one requested pair
}

type refLook struct {
	MessageID string     `json:"message_id"` // empty: older than the index
	Seq       uint32     `json:"seq"`
	At        *time.Time `json:"at,omitempty"`
	SenderID  string     `json:"sender_id,omitempty"`
}

type channelLook struct {
	ChannelID   string   `json:"channel_id"`
	Latest      *refLook `json:"latest"`
	HeadSeq     uint32   `json:"head_seq"`
	HeadPos     uint32   `json:"head_pos"`
	MemberCount uint32   `json:"member_count"`
	Large       bool     `json:"large"`
}

type pairLook struct {
	ChannelID     string       `json:"channel_id"`
	UserID        string       `json:"user_id"`
	Member        bool         `json:"member"`
	Unread        uint32       `json:"unread"`
	Mentions      uint32       `json:"mentions"`
	OfflineUnread uint32       `json:"offline_unread"`
	FirstUnread   *refLook     `json:"first_unread"`
	LastRead      *refLook     `json:"last_read"`
	Muted         bool         `json:"muted"`
	ReadEpoch     uint32       `json:"read_epoch"`
	Stamp         string       `json:"stamp"`
	Explanation   *explainLook `json:"explanation,omitempty"`
}

type explainLook struct {
	MessageIDs []string          `json:"message_ids"`
	Unnamed    uint32            `json:"unnamed"`
	More       bool              `json:"more"`
	Excluded   map[string]uint32 `json:"excluded"`
	Event      string            `json:"event,omitempty"` // the record that put the pointer where it is
}

type threadLook struct {
	ChannelID   string   `json:"channel_id"`
	ThreadID    string   `json:"thread_id"`
	UserID      string   `json:"user_id"`
	Unread      uint32   `json:"unread"`
	Mentions    uint32   `json:"mentions"`
	FirstUnread *refLook `json:"first_unread"`
	LastRead    *refLook `json:"last_read"`
	LastReply   *refLook `json:"last_reply"`
	ReadEpoch   uint32   `json:"read_epoch"`
}

// look queries a store. It reports false if the store has nothing about the request.
func (f *lookFlags) look(store string, p *projections.Partition) (*LookInfo, bool, error) {
	p.RLock()
	defer p.RUnlock()
	id := p.Identity()
	info := &LookInfo{Store: store, Partition: id.Partition, Partitions: id.Partitions, Position: p.StoredPosition(),
		LogTime: instant(p.LogTime()), Pairs: []pairLook{}, Threads: []threadLook{}}
	for in := range id.Topics {
		info.topics[in] = id.Topics[in].Name
	}
	var err error
	if f.Channel != "" {
		f.channel(info, p)
	} else {
		err = f.user(info, p)
	}
	if perr := p.Err(); err == nil {
		err = perr // one record is unreadable, so no part of the answer can be trusted
	}
	return info, info.Channel != nil || len(info.Pairs) > 0, err
}

// channel answers about one channel: all of its users, or one with the messages behind their
// number.
func (f *lookFlags) channel(info *LookInfo, p *projections.Partition) {
	c, ok := p.Channel(f.Channel)
	if !ok {
		return
	}
	info.Channel = &channelLook{ChannelID: c.ChannelID, Latest: headLook(c.Latest), HeadSeq: c.HeadSeq, HeadPos: c.HeadPos,
		MemberCount: c.MemberCount, Large: c.Large}
	users := p.Users(f.Channel)
	if f.User != "" {
		users = []string{f.User}
	}
	for _, u := range users {
		info.pair(p, u, f.Channel, f.Limit)
	}
	if f.User == "" {
		return
	}
	if x, ok := p.Explain(f.User, f.Channel); ok {
		info.explained = &x
		info.Pairs[0].Explanation = info.explanation(&x)
	}
	p.ThreadsIn(f.User, f.Channel, func(v *projections.ThreadView) bool { return info.thread(v, f.Limit) })
}

// user answers about all channels of one user.
func (f *lookFlags) user(info *LookInfo, p *projections.Partition) error {
	var channels []string
	err := p.UserRows(f.User, func(r *projections.UserRow) bool {
		channels = append(channels, string(r.ChannelID))
		return true
	})
	if err != nil {
		return err
	}
	slices.Sort(channels)
	for _, c := range channels {
		info.pair(p, f.User, c, f.Limit)
	}
	err = p.Threads(f.User, func(v *projections.ThreadView) bool { return info.thread(v, f.Limit) })
	slices.SortFunc(info.Threads, func(x, y threadLook) int {
		return strings.Compare(x.ChannelID+"\x00"+x.ThreadID, y.ChannelID+"\x00"+y.ThreadID)
	})
	return err
}

func (info *LookInfo) thread(v *projections.ThreadView, limit int) bool {
	if len(info.Threads) == limit {
		info.More++
		return true
	}
	info.Threads = append(info.Threads, threadLook{ChannelID: v.ChannelID, ThreadID: v.ThreadID, UserID: v.UserID, Unread: v.Unread,
		Mentions: v.Mentions, FirstUnread: refOf(v.FirstUnread, 0), LastRead: refOf(v.LastRead, v.LastReadAt),
		LastReply: headLook(v.LastReply), ReadEpoch: v.ReadEpoch})
	return true
}

func (info *LookInfo) pair(p *projections.Partition, user, channel string, limit int) {
	if len(info.Pairs) == limit {
		info.More++
		return
	}
	v, _ := p.View(user, channel)
	info.Pairs = append(info.Pairs, pairLook{ChannelID: v.ChannelID, UserID: v.UserID, Member: v.Member, Unread: v.Unread, Mentions: v.Mentions,
		OfflineUnread: v.OfflineUnread, FirstUnread: refOf(v.FirstUnread, 0), LastRead: refOf(v.LastRead, v.LastReadAt),
		Muted: v.Muted, ReadEpoch: v.ReadEpoch, Stamp: v.Stamp.String()})
}

func (info *LookInfo) explanation(x *projections.Explanation) *explainLook {
	out := &explainLook{MessageIDs: x.MessageIDs, Unnamed: x.Unnamed, More: x.More, Excluded: map[string]uint32{
		"own": x.Excluded.Own, "deleted": x.Excluded.Deleted, "silent": x.Excluded.Silent, "thread": x.Excluded.Thread,
		"read_singly": x.Excluded.ReadSingly, "before_join": x.Excluded.BeforeJoin,
	}}
	if out.MessageIDs == nil {
		out.MessageIDs = []string{}
	}
	if x.Pointer.Seq > 0 && !x.Event.Gone {
		out.Event = events.RecordID{Topic: info.topics[x.Event.Input], Partition: info.Partition, Offset: x.Event.Offset}.String()
	}
	return out
}

// refOf returns a message and its time; nil for none.
func refOf(r projections.Ref, at int64) *refLook {
	if r.Seq == 0 {
		return nil
	}
	return &refLook{MessageID: r.MessageID, Seq: r.Seq, At: instant(at)}
}

func headLook(h projections.Head) *refLook {
	if h.Seq == 0 {
		return nil
	}
	return &refLook{MessageID: h.MessageID, Seq: h.Seq, At: instant(h.At), SenderID: h.SenderID}
}

// instant returns a time of the store; nil for none.
func instant(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	at := time.UnixMilli(ms).UTC()
	return &at
}
