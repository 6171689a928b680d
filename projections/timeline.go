package projections

import (
	"bytes"
	"slices"

	"github.com/tidemark/tidemark/events"
)

// FoldMessage folds the record of chat.messages at offset (DESIGN §4.1); timestamp is the record's, in Unix
// milliseconds. The partition's Lock is held.
func (p *Partition) FoldMessage(m *events.Message, offset, timestamp int64) Outcome {
	p.pos[events.Messages] = offset + 1
	if m.OccurredAt > p.logTime {
		p.logTime = m.OccurredAt
		if len(p.lapses) > 0 {
			p.wakeLapsed()
		}
	}
	ci, c := p.ensureChannel(m.ChannelID)
	if c.flags&chDeleted != 0 {
		return OutcomeIgnored
	}
	c.lastM = offset + 1
	p.touchChannel(ci, c)
	switch m.Kind {
	case events.KindMessagePosted:
		return p.posted(ci, c, m, offset)
	case events.KindMessageEdited:
		return p.edited(ci, c, m)
	case events.KindMessageDeleted:
		return p.deleted(ci, c, m)
	case events.KindMessagesPurged:
		return p.purged(ci, c, m)
	case events.KindMembersJoined:
		return p.joined(ci, c, m)
	case events.KindMembersLeft:
		return p.left(ci, c, m)
	case events.KindChannelDeleted:
		p.deleteChannel(ci, c)
		return OutcomeApplied
	}
	return OutcomeIgnored
}

func (p *Partition) posted(ci uint32, c *channel, m *events.Message, offset int64) Outcome {
	hash := idHash(m.MessageID)
	// An id beyond all that were posted is new for sure, so that ids that grow with time, as most do, cost no lookup.
	grows := bytes.Compare(m.MessageID, p.blobs.get(c.maxID)) > 0
	if !grows {
		if _, dup := p.lookup(c, m.MessageID, hash, p.logTime); dup {
			return OutcomeDuplicate
		}
		p.noteRepost(c, m.MessageID, hash)
	}
	if c.headSeq >= MaxSeq {
		return OutcomeChannelFull
	}
	e := entry{
		seq: c.headSeq + 1, time: max(m.OccurredAt, c.time), logTime: p.logTime, off: offset,
		id: m.MessageID, sender: m.SenderID, preview: m.Preview, thread: m.ThreadID,
	}
	if m.Silent {
		e.flags |= entSilent
	}
	if len(m.ThreadID) > 0 {
		e.flags |= entReply
	}
	if m.Broadcast {
		e.flags |= entBroadcast
	}
	p.setMentions(&e, m)

	p.notePosted(c, e.seq, m.MemberCount)
	inThread := p.beforeReply(ci, c, &e)
	counted := e.counted()
	var senderRef uint32
	var sender *row
	var compare bool
	var before uint64
	if counted && len(m.SenderID) > 0 {
		senderRef, sender = p.ensureRow(ci, p.ensureUser(m.SenderID))
		// Nearly always the post moves its sender's pointer. Where it need not, what he sees is compared.
		x := p.excOf(sender)
		if compare = p.settings.SendMarksRead && (sender.erased() || (x != nil && len(x.held)+len(x.floors) > 0)); compare {
			before = p.signature(c, sender)
		}
		if x != nil && x.ownKept {
			x.own = append(x.own, e.seq)
		}
	}
	c.headSeq = e.seq
	if c.headSeq == 1 {
		c.firstTime = e.time
	}
	c.time, c.logTime = e.time, e.logTime
	if counted {
		c.headPos++
		c.latest = e.seq
	} else {
		p.ensureExt(c).uncounted.add(e.seq)
	}
	if sender != nil {
		e.prevOwn, sender.lastOwn, sender.ownAt = sender.lastOwn, e.seq, e.time
		p.touchRow(senderRef, sender)
		p.dropQueued(senderRef, sender)
	}
	if !p.noteID(c, &e, grows) {
		p.indexMessage(c, &e)
	}
	p.appendMessage(c, &e, hash)
	p.afterPost(c, &e, inThread)
	if counted {
		if e.flags&entAll != 0 {
			p.ensureExt(c).alls.add(e.seq)
		}
		p.mention(ci, &e, e.users, nil)
		if sender != nil {
			if x := p.excOf(sender); x != nil && len(x.held) > 0 && p.settle(senderRef) {
				p.emitCheck(senderRef)
			}
			switch {
			case compare && p.signature(c, sender) == before:
			case !p.settings.SendMarksRead && (sender.flags&rowMember == 0 || c.flags&chLarge == 0):
				// An own post that moves nothing is told in a large channel only, as one more excluded position.
			default:
				p.emit(senderRef)
			}
		}
		p.emitMembers(ci, c)
	}
	p.emitChannel(ci, c)
	p.wakePosted(c, m.MessageID)
	return OutcomeApplied
}

// setMentions states the mentions of a new or edited message.
func (p *Partition) setMentions(e *entry, m *events.Message) {
	e.flags &^= entAll | entMentions
	e.users = nil
	if m.MentionAll {
		e.flags |= entAll
	}
	if len(m.IDs) > 0 {
		e.flags |= entMentions
		e.users = appendUsers(nil, m.IDs)
	}
}

// mention enters a counted message into the sets of those it mentions now, and takes it out of the sets of those it
// mentioned before.
func (p *Partition) mention(ci uint32, e *entry, now, before []byte) {
	if len(now) == 0 && len(before) == 0 {
		return
	}
	had := map[string]bool{}
	eachUser(before, func(id []byte) { had[string(id)] = true })
	eachUser(now, func(id []byte) {
		if had[string(id)] {
			delete(had, string(id))
			return
		}
		ref, r := p.ensureRow(ci, p.ensureUser(id))
		p.ensureExc(r).mentions.add(e.seq)
		p.touchExc(ref, r)
		p.emitMention(ref, e.seq)
	})
	eachUser(before, func(id []byte) {
		if !had[string(id)] {
			return
		}
		ref, r := p.ensureRow(ci, p.ensureUser(id))
		p.ensureExc(r).mentions.remove(e.seq)
		p.touchExc(ref, r)
		p.emitMention(ref, e.seq)
	})
}

func (p *Partition) edited(ci uint32, c *channel, m *events.Message) Outcome {
	x, ok := p.lookup(c, m.MessageID, idHash(m.MessageID), p.logTime)
	if !ok {
		return OutcomeIgnored
	}
	e := p.entryAt(c, x.seq)
	if e.flags&entDeleted != 0 {
		return OutcomeIgnored
	}
	old := e
	old.users, old.preview = slices.Clone(e.users), slices.Clone(e.preview)
	e.id, e.sender, e.thread = slices.Clone(e.id), slices.Clone(e.sender), slices.Clone(e.thread)
	e.preview = m.Preview
	if m.KeepMentions {
		e.users = old.users
	} else {
		p.setMentions(&e, m)
	}
	latest := e.seq == c.latest && string(old.preview) != string(m.Preview)
	p.comparing(c, func() {
		p.replaceEntry(c, &e)
		if !e.counted() {
			return
		}
		if (old.flags^e.flags)&entAll != 0 {
			alls := &p.ensureExt(c).alls
			if e.flags&entAll != 0 {
				alls.add(e.seq)
			} else {
				alls.remove(e.seq)
			}
			p.emitChannel(ci, c)
		}
		p.mention(ci, &e, e.users, old.users)
	})
	p.editedReply(ci, c, &e, &old)
	if latest {
		p.emitMembers(ci, c)
		p.emitChannel(ci, c)
	}
	return OutcomeApplied
}

func (p *Partition) deleted(ci uint32, c *channel, m *events.Message) Outcome {
	seq := m.Seq
	x, ok := p.lookup(c, m.MessageID, idHash(m.MessageID), p.logTime)
	if ok {
		seq = x.seq
	}
	if seq == 0 || seq > c.headSeq {
		return OutcomeIgnored
	}
	e := p.entryAt(c, seq)
	if !ok && (p.logTime-e.time <= p.settings.IndexRetention || !bytes.Equal(e.id, m.MessageID)) {
		return OutcomeIgnored // the seq is for what the index has forgotten, and names the message by its id all the same
	}
	if e.flags&entDeleted != 0 {
		return OutcomeDuplicate
	}
	e.id, e.sender, e.thread = slices.Clone(e.id), slices.Clone(e.sender), slices.Clone(e.thread)
	users := slices.Clone(e.users)
	e.flags |= entDeleted
	e.preview, e.users = nil, nil // what was deleted is not kept
	e.flags &^= entMentions
	all := e.flags&entAll != 0
	p.replaceEntry(c, &e)
	p.deletedInThread(ci, c, &e, users)
	if !e.counted() {
		return OutcomeApplied
	}
	p.comparing(c, func() {
		sets := p.ensureExt(c)
		sets.deleted.add(seq)
		if all {
			sets.alls.remove(seq)
		}
		p.mention(ci, &e, nil, users)
		if seq == c.latest {
			p.fallBack(c)
		}
	})
	p.emitChannel(ci, c)
	return OutcomeApplied
}

// fallBack finds the newest live counted message below the present one.
func (p *Partition) fallBack(c *channel) {
	s := c.latest
	if x := p.extOf(c); x != nil {
		for s > c.floor {
			t := x.uncounted.prevAbsent(x.deleted.prevAbsent(s))
			if t == s {
				break
			}
			s = t
		}
	}
	if s <= c.floor {
		s = 0
	}
	c.latest = s
}

func (p *Partition) purged(ci uint32, c *channel, m *events.Message) Outcome {
	var to uint32
	switch m.Target {
	case events.TargetMessageID:
		x, ok := p.lookup(c, m.MessageID, idHash(m.MessageID), p.logTime)
		if !ok {
			return OutcomeIgnored
		}
		to = x.seq
	case events.TargetSeq:
		to = min(m.Seq, c.headSeq)
	case events.TargetTime:
		to = p.seqAt(c, m.TargetTime, 1<<63-1)
	}
	if to <= c.floor {
		return OutcomeDuplicate
	}
	p.purgedThreads(c, c.floor, to)
	p.comparing(c, func() {
		c.floor = to
		if c.latest != 0 && c.latest <= to {
			p.fallBack(c)
		}
	})
	p.emitChannel(ci, c)
	return OutcomeApplied
}

func (p *Partition) joined(ci uint32, c *channel, m *events.Message) Outcome {
	any := false
	for _, id := range m.IDs {
		ref, r := p.ensureRow(ci, p.ensureUser(id))
		if r.flags&rowMember != 0 {
			continue
		}
		any = true
		if r.ord == noOrdinal {
			p.dropGuest(ref, r)
			p.giveOrdinal(c, ref)
		}
		r.flags |= rowMember
		r.base = c.headSeq
		if m.CountHistory {
			r.base = 0
		}
		p.joinedAt(ref, r, c.headSeq)
		p.queuedIn(c, ref, r)
		c.members++
		p.memberChanged(c, ref, true)
		p.touchRow(ref, r)
		p.emit(ref)
		p.emitFollows(r)
	}
	return p.membership(ci, c, any)
}

func (p *Partition) left(ci uint32, c *channel, m *events.Message) Outcome {
	any := false
	for _, id := range m.IDs {
		u := p.userOf(id)
		if u == 0 {
			continue
		}
		ref := p.rowOf(ci, u)
		if ref == 0 || p.rows.at(ref).flags&rowMember == 0 {
			continue
		}
		any = true
		r := p.rows.at(ref)
		p.leftAt(ref, r, c.headSeq)
		r.flags &^= rowMember
		r.base = 0
		c.members--
		p.memberChanged(c, ref, false)
		p.touchRow(ref, r)
		p.emit(ref)
		p.emitFollows(r)
	}
	return p.membership(ci, c, any)
}

// membership turns the channel large or small after its member count changed (DESIGN §2).
func (p *Partition) membership(ci uint32, c *channel, any bool) Outcome {
	if !any {
		return OutcomeDuplicate
	}
	limit := uint64(p.settings.FanoutLimit)
	n := uint64(c.members)
	was := c.flags & chLarge
	switch {
	case n > limit || limit == 0:
		c.flags |= chLarge
	case n*100 <= limit*80:
		c.flags &^= chLarge
	}
	if c.flags&chLarge != was {
		p.eachMember(c, func(ref uint32, r *row) {
			p.emit(ref)
			p.queuedIn(c, ref, r)
		})
	}
	p.emitChannel(ci, c)
	return OutcomeApplied
}
