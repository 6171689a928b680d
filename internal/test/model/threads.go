package model

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// threadListed is how long after its last reply, or the user's last read or follow in it, a thread
// is listed, in milliseconds of log time (DESIGN §4.4).
const threadListed = 30 * 24 * 60 * 60 * 1000

// Threads returns all threads of a channel that any record names, sorted.
func (m *Model) Threads(channelID string) []string {
	var ids [][]byte
	for i := range m.messages {
		if e := &m.messages[i].event; string(e.ChannelID) == channelID {
			ids = append(ids, e.ThreadID)
		}
	}
	for i := range m.reads {
		if e := &m.reads[i].event; string(e.ChannelID) == channelID {
			ids = append(ids, e.ThreadID)
		}
	}
	return distinct(ids)
}

// follow is whether a user follows a thread, and from where: replies after start count.
type follow struct {
	is    bool
	start uint32
	word  int64 // time of the last explicit follow in effect, 0 = none
}

// from makes the follow begin at seq or before.
func (f *follow) from(seq uint32) {
	if !f.is || seq < f.start {
		f.start = seq
	}
	f.is = true
}

// followOf applies all messages first, then the user's own follows and unfollows. After an unfollow
// only an explicit follow counts.
func (m *Model) followOf(r *reader, user, channelID string) (f follow) {
	var first *post
	root := r.timeline.rootOf(r.channel, r.thread)
	for _, p := range r.channel.posts {
		if !p.replyIn(r.thread) || p.hiddenTo(user) {
			continue
		}
		if first == nil {
			first = p
		}
		if p.sender == user || slices.Contains(p.mentionedEver, user) {
			f.from(p.seq - 1)
		}
	}
	if root != nil && first != nil && root.sender == user && (root.seq >= first.seq || r.timeline.remembers(root.logTime, first.logTime)) {
		f.from(first.seq - 1)
	}
	var said *readRecord // the explicit follows in effect, as one
	for i := range m.reads {
		rec := &m.reads[i]
		e := &rec.event
		if string(e.UserID) != user || string(e.ChannelID) != channelID {
			continue
		}
		if e.Kind == events.KindUserErased {
			f, said = follow{}, nil
			continue
		}
		if string(e.ThreadID) != r.thread {
			continue
		}
		switch e.Kind {
		case events.KindThreadFollowed:
			said = said.earliest(rec)
			f.word = max(f.word, e.OccurredAt)
		case events.KindThreadUnfollowed:
			f, said = follow{}, nil
		}
	}
	if said != nil {
		f.from(r.timeline.upTo(r.channel, r.seen(said), said.event.OccurredAt, said.now))
	}
	return f
}

// earliest joins two explicit follows: the earlier time, and the earlier end of what it may reach.
// The log time is of the last event that made either earlier.
func (rec *readRecord) earliest(next *readRecord) *readRecord {
	if rec == nil {
		return next
	}
	both := *rec
	if next.event.OccurredAt < both.event.OccurredAt || next.lastsUntil < both.lastsUntil {
		both.now = next.now
	}
	both.event.OccurredAt, both.lastsUntil = min(both.event.OccurredAt, next.event.OccurredAt), min(both.lastsUntil, next.lastsUntil)
	return &both
}

// threadPair is everything about one user in one thread.
type threadPair struct {
	*pair
	follow
	rootGone bool // its root was deleted
	ended    bool // there is nothing left to follow
	gone     bool // nobody's list has the thread
	last     *post
	own      spot // the pointer without reads of the channel with_threads
}

func (m *Model) threadPair(user, channelID, thread string) (*threadPair, bool) {
	p, ok := m.pair(user, channelID)
	if !ok {
		return nil, false
	}
	lastR := p.lastR
	p.reader = m.readsOf(user, channelID, thread)
	p.shown, p.lastR = p.reader.shown(), lastR
	t := &threadPair{pair: p, follow: m.followOf(p.reader, user, channelID), own: p.shown}
	if s := t.lastRead(); t.is && s > p.shown.seq {
		p.shown = spot{seq: s, event: p.withThreads.event}
	}
	for _, q := range p.channel.posts {
		if q.replyIn(thread) && p.channel.live(q) {
			t.last = q
		}
	}
	if q := p.timeline.rootOf(p.channel, thread); q != nil {
		t.rootGone = q.deleted
		t.ended = q.deleted || (q.seq <= p.channel.floor && t.last == nil)
	}
	t.gone = t.rootGone || t.last == nil
	return t, true
}

// lastRead returns the seq of the last reply that reads with_threads reach. It counts only replies
// after the start of the user's follow that exist for the user.
func (t *threadPair) lastRead() uint32 {
	return lastSeq(t.channel.posts, func(p *post) bool {
		return p.seq <= t.withThreads.seq && p.seq > t.start && t.counts(p) && !p.deleted && !p.hiddenTo(t.user)
	})
}

// unread applies the definition of DESIGN §4.2 to a reply of a thread.
func (t *threadPair) unread(p *post) bool {
	return t.is && !t.gone && !t.left && p.seq > max(t.shown.seq, t.baseline, t.start) && t.counts(p) && t.channel.live(p) &&
		p.sender != t.user && !t.singles[p.seq] && !t.hides(p)
}

// Thread returns a user's view of a thread (DESIGN §4.4); false if there is no such channel.
func (m *Model) Thread(user, channelID, thread string) (projections.ThreadView, bool) {
	t, ok := m.threadPair(user, channelID, thread)
	if !ok {
		return projections.ThreadView{}, false
	}
	c := t.channel
	channel, _ := m.View(user, channelID)
	v := projections.ThreadView{
		UserID: user, ChannelID: channelID, ThreadID: thread, Member: t.member, Muted: channel.Muted,
		Following: t.is && !t.ended, ReadEpoch: 1 + t.marks, LastRead: m.ref(c, t.shown.seq), Stamp: channel.Stamp,
	}
	if t.shown.seq > 0 {
		v.LastReadAt = t.shown.at
	}
	if t.own.seq > 0 {
		v.TouchedAt = t.own.at
	}
	if v.Following && !t.gone {
		v.TouchedAt = max(v.TouchedAt, t.word)
	}
	if t.last != nil && !t.gone {
		v.LastReply = projections.Head{Seq: t.last.seq, At: t.timeline.told(c, t.last)}
		if m.keepsText(c, t.last) {
			v.LastReply.MessageID, v.LastReply.SenderID, v.LastReply.Preview = t.last.id, t.last.sender, t.last.preview
		}
		v.TouchedAt = max(v.TouchedAt, v.LastReply.At)
	}
	for _, p := range c.posts {
		if !t.unread(p) {
			continue
		}
		v.Unread++
		if t.settings.mentions(p, user) {
			if v.Mentions++; v.Mentions == 1 {
				v.FirstMention = m.ref(c, p.seq)
			}
			if p.mentionsUser(user) {
				v.DirectMentions++
			}
		}
		if v.FirstUnread.Seq == 0 {
			v.FirstUnread = m.ref(c, p.seq)
		}
	}
	return v, true
}

// ThreadList returns the listed threads that a user follows, by channel and id.
func (m *Model) ThreadList(user string) []projections.ThreadView { return m.panelOf(user, false) }

// panelOf is ThreadList; with always it lists threads of any age.
func (m *Model) panelOf(user string, always bool) (out []projections.ThreadView) {
	for _, c := range m.Channels() {
		for _, id := range m.Threads(c) {
			v, ok := m.Thread(user, c, id)
			if ok && v.Member && v.Following && v.LastReply.Seq > 0 && (always || m.timeline().logTime-v.TouchedAt <= threadListed) {
				out = append(out, v)
			}
		}
	}
	return out
}

// ExplainThread returns the replies that a thread's unread count consists of, and for each other
// message of the thread above the pointer the first reason why it does not count; false as in
// Thread.
func (m *Model) ExplainThread(user, channelID, thread string) (projections.Explanation, bool) {
	t, ok := m.threadPair(user, channelID, thread)
	if !ok {
		return projections.Explanation{}, false
	}
	c := t.channel
	x := projections.Explanation{Pointer: m.ref(c, t.shown.seq), PointerAt: t.shown.at, Event: m.event(c, t.shown)}
	if t.left || !t.is || t.rootGone {
		return x, true
	}
	for _, q := range c.posts[t.shown.seq:] {
		switch {
		case q.thread != thread:
		case t.unread(q):
			m.explain(&x, c, q)
		case q.seq <= c.floor:
			x.Excluded.Deleted++
		case q.seq <= max(t.baseline, t.start):
			x.Excluded.BeforeJoin++
		case q.deleted:
			x.Excluded.Deleted++
		case q.silent:
			x.Excluded.Silent++
		case q.broadcast:
			x.Excluded.Thread++ // counts in the channel
		case q.sender == user:
			x.Excluded.Own++
		case t.hides(q):
			x.Excluded.Hidden++
		default:
			x.Excluded.ReadSingly++
		}
	}
	return x, true
}
