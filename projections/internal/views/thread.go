package views

import (
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// The methods of this file need RLock and change nothing.

// Thread returns the user's view of a thread. It returns false if the channel does not exist, as
// View does. A thread that nothing names is shown as one without followers.
func (p *Queries) Thread(userID, channelID, threadID string) (ThreadView, bool) {
	v, ok := p.thread(userID, channelID, threadID, nil)
	return *v, ok
}

// thread is Thread. If later is not nil, it leaves what must be read from the store to later.End.
func (p *Queries) thread(userID, channelID, threadID string, later *Views) (*ThreadView, bool) {
	ci, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return &ThreadView{}, false
	}
	pair := p.rules.PairOrNone(ci, userID)
	v := p.threadOfPair(c, pair, later)
	v.UserID, v.ChannelID, v.ThreadID = userID, channelID, threadID
	ti := p.rules.ThreadOf(ci, []byte(threadID))
	if ti == 0 {
		return v, true
	}
	if u := p.rules.UserOf([]byte(userID)); u != 0 {
		if ref := p.rules.ThreadRowOf(ti, u); ref != 0 {
			p.fillRow(c, p.rules.Rows.At(ref), v, later)
			return v, true
		}
	}
	p.fillReply(c, p.rules.Threads.At(ti), v, later)
	return v, true
}

// threadOfPair returns the view of a thread that nothing names.
func (p *Queries) threadOfPair(c *state.Channel, pair *state.Row, later *Views) *ThreadView {
	v := later.threadView()
	*v = ThreadView{
		ReadEpoch: 1,
		Member:    pair.Flags&state.RowMember != 0, Muted: pair.Flags&state.RowMuted != 0, Stamp: p.rules.StampOf(c, pair),
	}
	return v
}

// ThreadAtRef is thread for the user's follow at ref, without a search by ids. It returns nil if
// another follow is there.
func (p *Queries) ThreadAtRef(userID, channelID, threadID string, ref ThreadRef, later *Views) *ThreadView {
	if !p.rules.Follows.Has(ref.follow) {
		return nil
	}
	f := p.rules.Follows.At(ref.follow)
	if !p.rules.Rows.Has(f.Pair) || !p.rules.Rows.Has(f.Row) {
		return nil
	}
	pair, t := p.rules.Rows.At(f.Pair), p.rules.Threads.At(f.Thread)
	c := p.rules.Channels.At(pair.Channel)
	if c.LastM == 0 || c.Flags&state.ChannelDeleted != 0 || p.rules.RareOf(p.rules.Rows.At(f.Row)).Scope != ref.follow || t.Channel != pair.Channel ||
		string(p.rules.Blobs.Get(t.ID)) != threadID || string(p.rules.Blobs.Get(c.ID)) != channelID || string(p.rules.UserID(pair.User)) != userID {
		return nil
	}
	v := p.threadOfPair(c, pair, later)
	v.UserID, v.ChannelID, v.ThreadID = userID, channelID, threadID
	p.fillRow(c, p.rules.Rows.At(f.Row), v, later)
	return v
}

// fillRow completes a view for the user with a row in the thread.
func (p *Queries) fillRow(c *state.Channel, r *state.Row, v *ThreadView, later *Views) {
	s := p.rules.ThreadScopeOf(c, r)
	v.TouchedAt = p.rules.TouchedAt(c, &s)
	p.fillScope(c, r, &s, v, later)
}

// fillScope completes a view, without TouchedAt, for a user with a row in the thread.
func (p *Queries) fillScope(c *state.Channel, r *state.Row, s *rules.ThreadScope, v *ThreadView, later *Views) {
	v.Following, v.ReadEpoch = s.Chosen && !p.rules.Ended(c, s.Thread), p.rules.RareOf(r).Marks+1
	v.LastReadAt = p.fillLastRead(c, &s.Scope, &v.LastRead, later)
	n := p.rules.ThreadCounts(c, r, s)
	v.Unread, v.Mentions, v.DirectMentions = n.Unread, n.Mentions, n.Direct
	p.fillFirst(c, &n, &v.FirstUnread, &v.FirstMention, later)
	p.fillReply(c, s.Thread, v, later)
}

func (p *Queries) fillReply(c *state.Channel, t *state.Thread, v *ThreadView, later *Views) {
	last := t.Newest(c.Floor)
	if t.Gone(c) {
		return
	}
	p.head(c, last, &v.LastReply, later)
	v.TouchedAt = max(v.TouchedAt, t.RepliedAt(&p.rules.State, c, last))
}

// Threads calls fn for every listed thread (DESIGN §4.4) that userID follows, in the channels of
// this partition that they are a member of, until fn returns false. The order is undefined. The
// view is reused for the next call. It returns the error of a corrupt store.
func (p *Queries) Threads(userID string, fn func(*ThreadView) bool) error {
	u := p.rules.UserOf([]byte(userID))
	if u == 0 {
		return p.rules.Err()
	}
	for ref := p.rules.Users.At(u).First; ref != 0; {
		pair := p.rules.Rows.At(ref)
		ref = pair.NextUser
		if p.rules.RareOf(pair).Scope != 0 && !p.threadsOf(pair, userID, fn) {
			break
		}
	}
	return p.rules.Err()
}

// ThreadsIn is Threads for one channel.
func (p *Queries) ThreadsIn(userID, channelID string, fn func(*ThreadView) bool) {
	if ci, _, ok := p.rules.KnownChannel(channelID); ok {
		p.threadsOf(p.rules.PairOrNone(ci, userID), userID, fn)
	}
}

// threadsOf calls fn for the listed threads of a pair, and reports whether to continue.
func (p *Queries) threadsOf(pair *state.Row, userID string, fn func(*ThreadView) bool) bool {
	var v ThreadView
	return p.eachFollowed(pair, func(c *state.Channel, r *state.Row, s *rules.ThreadScope) bool {
		touched := p.rules.TouchedAt(c, s)
		if p.expired(touched, p.rules.MessageTime) {
			return true
		}
		v = ThreadView{
			UserID: userID, ChannelID: string(p.rules.Blobs.Get(c.ID)), ThreadID: string(p.rules.Blobs.Get(s.Thread.ID)),
			Member: true, Muted: pair.Flags&state.RowMuted != 0, Stamp: p.rules.StampOf(c, pair), TouchedAt: touched,
		}
		p.fillScope(c, r, s, &v, nil)
		return fn(&v)
	})
}

// eachFollowed calls fn for the threads that the user of a pair follows, if they are a member of
// the channel, until fn returns false. It reports whether to continue.
func (p *Queries) eachFollowed(pair *state.Row, fn func(c *state.Channel, r *state.Row, s *rules.ThreadScope) bool) bool {
	if pair.Flags&state.RowMember == 0 {
		return true
	}
	c := p.rules.Channels.At(pair.Channel)
	for fi := p.rules.RareOf(pair).Scope; fi != 0; {
		f := p.rules.Follows.At(fi)
		fi = f.Sibling
		r := p.rules.Rows.At(f.Row)
		if s := p.rules.ThreadScopeOf(c, r); s.Follows && !fn(c, r, &s) {
			return false
		}
	}
	return true
}
