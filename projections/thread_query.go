package projections

// The methods of this file read. They need RLock and change nothing.

// Thread is what userID sees of a thread of channelID. It reports false where there is no such channel, as View does; a
// thread that nothing names is one that nobody follows.
func (p *Partition) Thread(userID, channelID, threadID string) (ThreadView, bool) {
	ci, c, ok := p.known(channelID)
	if !ok {
		return ThreadView{}, false
	}
	pair := p.pairOrNone(ci, userID)
	v := ThreadView{
		UserID: userID, ChannelID: channelID, ThreadID: threadID, ReadEpoch: 1,
		Member: pair.flags&rowMember != 0, Muted: pair.flags&rowMuted != 0, Stamp: p.stampOf(c, pair),
	}
	ti := p.threadOf(ci, []byte(threadID))
	if ti == 0 {
		return v, true
	}
	if u := p.userOf([]byte(userID)); u != 0 {
		if ref := p.threadRowOf(ti, u); ref != 0 {
			p.fillThread(c, p.rows.at(ref), &v)
			return v, true
		}
	}
	p.fillReply(c, p.threads[ti], &v)
	return v, true
}

// fillThread completes a view for a user who has done something with the thread.
func (p *Partition) fillThread(c *channel, r *row, v *ThreadView) {
	s := p.threadScopeOf(c, r)
	v.TouchedAt = p.touchedAt(c, &s)
	p.fillScope(c, r, &s, v)
}

// fillScope is fillThread but for TouchedAt.
func (p *Partition) fillScope(c *channel, r *row, s *threadScope, v *ThreadView) {
	v.Following, v.ReadEpoch = s.follows, r.marks+1
	if s.ptr > 0 {
		v.LastRead = Ref{p.messageID(c, s.ptr), s.ptr}
		v.LastReadAt = s.at
	}
	n := p.threadCounts(r, s)
	v.Unread, v.Mentions = n.unread, n.mentions
	if n.first > 0 {
		v.FirstUnread = Ref{p.messageID(c, n.first), n.first}
	}
	p.fillReply(c, s.t, v)
}

func (p *Partition) fillReply(c *channel, t *thread, v *ThreadView) {
	last := t.newest(c.floor)
	if last == 0 || t.gone(c) {
		return
	}
	e := p.entryAt(c, last)
	v.LastReply = Head{Seq: last, At: e.time}
	if p.inIndex(c, &e) {
		v.LastReply.MessageID, v.LastReply.SenderID, v.LastReply.Preview = string(e.id), string(e.sender), string(e.preview)
	}
	v.TouchedAt = max(v.TouchedAt, e.time)
}

// touchedAt is the latest of the thread's last reply, the user's pointer and his last follow by word; 0 for none.
func (p *Partition) touchedAt(c *channel, s *threadScope) (at int64) {
	if s.ptr > 0 {
		at = s.at
	}
	if s.follows && s.f.flags&foWord != 0 {
		at = max(at, s.f.wordAt)
	}
	if last := s.t.newest(c.floor); last != 0 && !s.t.gone(c) {
		e := p.entryAt(c, last)
		at = max(at, e.time)
	}
	return at
}

// Threads calls fn for every thread that userID follows in the channels of this partition that he is a member of, and
// that is listed (DESIGN §4.4), in no order, until fn returns false. The view is reused for the next call. The error is
// that of a corrupt store.
func (p *Partition) Threads(userID string, fn func(*ThreadView) bool) error {
	u := p.userOf([]byte(userID))
	if u == 0 {
		return p.Err()
	}
	for ref := p.users.at(u).first; ref != 0; {
		pair := p.rows.at(ref)
		ref = pair.nextUser
		if pair.scope != 0 && !p.threadsOf(pair, userID, fn) {
			break
		}
	}
	return p.Err()
}

// ThreadsIn is Threads for one channel.
func (p *Partition) ThreadsIn(userID, channelID string, fn func(*ThreadView) bool) {
	if ci, _, ok := p.known(channelID); ok {
		p.threadsOf(p.pairOrNone(ci, userID), userID, fn)
	}
}

// threadsOf calls fn for the listed threads of a pair, and reports whether to go on.
func (p *Partition) threadsOf(pair *row, userID string, fn func(*ThreadView) bool) bool {
	var v ThreadView
	return p.eachFollowed(pair, func(c *channel, r *row, s *threadScope) bool {
		touched := p.touchedAt(c, s)
		if p.logTime-touched > threadListed {
			return true
		}
		v = ThreadView{
			UserID: userID, ChannelID: string(p.blobs.get(c.id)), ThreadID: string(p.blobs.get(s.t.id)),
			Member: true, Muted: pair.flags&rowMuted != 0, Stamp: p.stampOf(c, pair), TouchedAt: touched,
		}
		p.fillScope(c, r, s, &v)
		return fn(&v)
	})
}

// eachFollowed calls fn for the threads that the user of a pair follows, if he is a member of the channel, until fn returns
// false, and reports whether to go on.
func (p *Partition) eachFollowed(pair *row, fn func(c *channel, r *row, s *threadScope) bool) bool {
	if pair.flags&rowMember == 0 {
		return true
	}
	c := p.chans.at(pair.ch)
	for fi := pair.scope; fi != 0; {
		f := p.follows.at(fi)
		fi = f.sibling
		r := p.rows.at(f.row)
		if s := p.threadScopeOf(c, r); s.follows && !fn(c, r, &s) {
			return false
		}
	}
	return true
}

// ThreadCounts calls fn for every thread that Threads lists and that has anything unread, in no order, with its numbers and
// whether its channel is muted. It reads one message of each of these, where Threads reads several of every thread.
func (p *Partition) ThreadCounts(userID string, fn func(unread, mentions uint32, muted bool)) error {
	u := p.userOf([]byte(userID))
	if u == 0 {
		return p.Err()
	}
	for ref := p.users.at(u).first; ref != 0; {
		pair := p.rows.at(ref)
		ref = pair.nextUser
		if pair.scope == 0 {
			continue
		}
		p.eachFollowed(pair, func(c *channel, r *row, s *threadScope) bool {
			n := p.threadCounts(r, s)
			if n.unread+n.mentions > 0 && p.logTime-p.touchedAt(c, s) <= threadListed {
				fn(n.unread, n.mentions, pair.flags&rowMuted != 0)
			}
			return true
		})
	}
	return p.Err()
}
