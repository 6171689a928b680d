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

// comparing runs a change of the timeline that is no post, and notes the members of a small channel who see it. Such
// changes are rare, so that comparing costs less than keeping what would tell.
func (p *Partition) comparing(c *channel, change func()) {
	each := p.eachMember
	if c.flags&chLarge != 0 { // a delta tells what was queued all the same
		each = func(c *channel, fn func(ref uint32, r *row)) {
			if x := p.extOf(c); x != nil {
				for _, ref := range x.queuers {
					fn(ref, p.rows.at(ref))
				}
			}
		}
	}
	before := p.sigs[:0]
	each(c, func(_ uint32, r *row) { before = append(before, p.signature(c, r)) })
	p.sigs = before
	change()
	each(c, func(ref uint32, r *row) {
		if p.signature(c, r) != before[0] {
			p.emit(ref)
		}
		before = before[1:]
	})
}
